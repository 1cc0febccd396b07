#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/core/index_stream.hpp>
#include <natten_sim/core/lowering.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>
#include <natten_sim/models/scatter/remedies.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/describe/members.hpp>

namespace natten_sim::study {

/// What atomic additions of rows to rows of a table cost, and what would make them cheaper.
///
///     ScatterQuestion question;
///     question.source = ZipfRows{1.5};
///     question.device = "h200";
///     question.details.remedies = true;
///     ScatterAnswer answer = scatter(question, default_context());
///     answer.cost.prediction.time_ns;
///     answer.cost.remedies->front().name;  // the fastest
///
/// An empty optional of a question takes the default that stands beside it.

/// Row numbers of the caller's own. `open` returns a stream from the first number on; all must lie in 0 ..
/// rows - 1. One row or more, unless the question says how many updates there are.
struct GivenRows {
  std::string name;  ///< for people: "file:index.npy"
  std::function<std::unique_ptr<IndexStream>(std::int64_t rows)> open;
};
using RowSource = std::variant<IndexDistribution, GivenRows>;

inline constexpr const char* kRowSources = "uniform, zipf:S, hot:K or file:PATH";
/// A distribution, or `file:PATH`: rows in a file, in the formats of io's open_index_file(), which is opened
/// when the question is answered. @throws InvalidParameter naming `parameter` and what is `accepted`.
[[nodiscard]] RowSource parse_row_source(const std::string& parameter, const std::string& text,
                                         const char* accepted = kRowSources);
/// The text that parse_row_source() reads as this source; of a caller's own rows, their name.
[[nodiscard]] std::string name_of(const RowSource& source);

/// Parts of the answer that are left out unless set.
struct ScatterDetails {
  bool addresses = false;  ///< distinct words; O(rows) where rows share words
  bool remedies = false;
  bool calibration = false;
};

/// Rows that are added if the question leaves their number out and they are generated.
inline constexpr std::int64_t kGeneratedUpdates = 65536;

struct ScatterQuestion {
  std::optional<std::int64_t> updates;  ///< rows added; none: kGeneratedUpdates, or all that are given
  std::int64_t rows = 32768;            ///< rows of the destination, 1..kMaxRows
  std::int64_t width = 256;             ///< elements of a row
  RowSource source = IndexDistribution(UniformRows{});
  Dtype dtype = Dtype::kBf16;
  std::optional<InstructionPath> path;          ///< none: what the construct becomes
  std::string construct = "torch-scatter-add";  ///< a construct of data/lowering.json
  std::string device = "h200";                  ///< a device of the catalog that has atomics
  std::uint64_t seed = 0;                       ///< seed of the generated rows
  std::int64_t prior_runs = 2;  ///< equal runs that have added to the destination since it was zero
  UpdateValues values = UpdateValues::kNormal;
  /// Releases of the framework, of the operator that adds by `construct`: what each would take.
  std::vector<std::string> compare;
  ScatterDetails details;
};

/// Atomic additions and their time. `msda` has one for the gradients of a backward pass.
struct ScatterCost {
  ScatterLoad load;
  std::optional<std::string> instruction;  ///< from the lowering table; none if another path was forced
  ContentionPrediction prediction;
  std::optional<std::int64_t> words;            ///< distinct 32-bit words that are updated
  std::optional<std::vector<Remedy>> remedies;  ///< fastest first
};

/// The same additions by the operator of one release.
struct ReleaseCost {
  OperatorRelease release;
  std::string instruction;
  InstructionPath path = InstructionPath::kRed;
  ContentionPrediction prediction;
  std::optional<TimeInterval> interval;  ///< where errors of its kind are known
};

struct ScatterAnswer {
  ScatterQuestion question;  ///< with `updates` filled in
  ContentionProfile profile;
  CollisionCount collisions;
  ScatterCost cost;
  std::vector<ReleaseCost> releases;            ///< those to compare, in the question's order
  std::optional<CalibrationError> calibration;  ///< error of the device's constants
};

/// Time O(updates + rows), memory some 20 bytes a row (and 12 for Zipf); the rest is closed form. Progress is
/// reported while updates are counted, if their number is known beforehand.
/// @throws UnknownName or InvalidParameter naming a member of the question; what the caller's stream throws.
[[nodiscard]] ScatterAnswer scatter(const ScatterQuestion& question, const Context& context);

/// Devices of the catalog that `scatter` and `msda` know enough about.
[[nodiscard]] std::vector<std::string> scatter_devices(const Context& context);

/// Constructs of the lowering table, each once.
[[nodiscard]] std::vector<std::string> scatter_constructs();

template <typename Members>
void describe(Members& members, const ScatterQuestion&) {
  using Q = ScatterQuestion;
  members.group("Problem");
  members.add("updates", &Q::updates,
              {.help = "Rows that are added [" + default_word(kGeneratedUpdates) +
                       "; with rows of your own, all of them]",
               .range = {0, kMaxUpdates}});
  members.add("rows", &Q::rows,
              {.value = "M", .help = "Rows of the destination [default]", .range = {1, kMaxRows}});
  members.add("width", &Q::width,
              {.value = "D", .help = "Elements of a row [default]", .range = {1, 1 << 20}});
  members.add("distribution", &Q::source,
              {.value = "KIND",
               .help = "uniform, zipf:S (row k with probability ~ 1/k^S), hot:K (evenly over K rows in distinct "
                       "sectors) or file:PATH (.npy, .csv, .txt, else raw 64-bit integers; 1 to 2^32 - 1 rows) "
                       "[default]"});
  members.add("dtype", &Q::dtype,
              {.value = "TYPE", .help = "Element type: fp32, fp16 or bf16 [default]", .choices = "fp32 fp16 bf16"});
  members.add("path", &Q::path,
              {.value = "PATH",
               .help = "Instruction that the hardware executes; auto: the one that the construct becomes "
                       "[default]"});
  members.add("construct", &Q::construct,
              {.help = "Source construct or operator of the lowering table [default]",
               .choices = joined(scatter_constructs(), " ")});
  members.add("device", &Q::device,
              {.help = "Device with measured contention [default]", .names = NamesOfCatalog::kDevices});
  members.add("seed", &Q::seed,
              {.value = "K",
               .help = "Seed of the generated rows [default]",
               .range = {0, std::int64_t{1} << 62}});
  members.add("prior_runs", &Q::prior_runs,
              {.value = "R",
               .help = "Equal runs that have added to the destination since it was zero [default]",
               .range = {0, 1 << 20}});
  members.add("values", &Q::values,
              {.value = "KIND",
               .help = "Values that are added: normal, or constant (ones, which saturate half-precision sums) "
                       "[default]"});
  members.add("compare", &Q::compare,
              {.value = "RELEASE",
               .help = "Also what the operator of the construct takes in these releases of its framework, such "
                       "as 2.9 main (see list operators)"});
}

}  // namespace natten_sim::study
