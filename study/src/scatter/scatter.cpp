#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>

#include "scatter/scatter_device.hpp"

namespace natten_sim::study {
namespace {

/// The first `updates` rows of a stream, which must have as many.
class FirstUpdates final : public IndexStream {
 public:
  FirstUpdates(const GivenRows& given, std::int64_t rows, std::int64_t updates)
      : stream_(given.open(rows)), updates_(updates), left_(updates) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t wanted = std::min(rows.size(), static_cast<std::size_t>(left_));
    const std::size_t got = wanted == 0 ? 0 : stream_->read(rows.first(wanted));
    if (wanted > 0 && got == 0) {
      throw InvalidParameter("updates", std::to_string(updates_),
                             "at most the " + std::to_string(updates_ - left_) + " rows of the file",
                             std::to_string(updates_ - left_));
    }
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }

 private:
  std::unique_ptr<IndexStream> stream_;
  std::int64_t updates_, left_;
};

std::unique_ptr<IndexStream> open_rows(const ScatterQuestion& question) {
  if (const auto* given = std::get_if<GivenRows>(&question.source)) {
    if (!question.updates) return given->open(question.rows);
    return std::make_unique<FirstUpdates>(*given, question.rows, *question.updates);
  }
  const std::int64_t row_bytes = checked_multiply(question.width, element_bytes(question.dtype), "row_bytes");
  return generate_indices({std::get<IndexDistribution>(question.source),
                           question.updates.value_or(kGeneratedUpdates), question.rows, row_bytes,
                           question.seed});
}

CollisionCount count_rows(const ScatterQuestion& question, const Context& context) {
  const std::unique_ptr<IndexStream> stream = open_rows(question);
  const auto* given = std::get_if<GivenRows>(&question.source);
  // Of rows without a known number there are no more than this.
  const auto expected =
      static_cast<double>(question.updates.value_or(given == nullptr ? kGeneratedUpdates : kMaxUpdates));
  CollisionCount count = count_collisions(*stream, question.rows, [&](std::int64_t done) {
    if (context.progress)
      context.progress(stream->share_read().value_or(static_cast<double>(done) / expected));
  });
  if (given != nullptr && !question.updates && count.updates == 0)
    throw InvalidParameter("distribution", given->name, "one row number or more");
  return count;
}

/// Path and vector width: the lowering's, or as forced.
void choose_path(std::optional<InstructionPath> forced, const Lowering& lowering, ScatterLoad& load) {
  load.path = forced.value_or(lowering.path);
  load.vector_width = lowering.vector_width;
  const bool native = load.path != InstructionPath::kCas;
  // There is no scalar native form of 16 bits; a loop adds one element a lane.
  if (native && lowering.path == InstructionPath::kCas) load.vector_width = load.type == Dtype::kFp32 ? 1 : 2;
  if (!native && lowering.path != InstructionPath::kCas) load.vector_width = 1;
  if (load.width % load.vector_width == 0) return;
  throw InvalidParameter(
      "width", std::to_string(load.width),
      "a multiple of " + std::to_string(load.vector_width) + ", which a lane of this construct adds at once",
      std::to_string(std::max(load.width / load.vector_width, std::int64_t{1}) * load.vector_width));
}

ScatterLoad load_of(const ScatterQuestion& question, const Lowering& lowering) {
  ScatterLoad load;
  load.width = question.width;
  load.type = question.dtype;
  load.values = question.values;
  load.prior_runs = question.prior_runs;
  choose_path(question.path, lowering, load);
  if (const auto* distribution = std::get_if<IndexDistribution>(&question.source)) {
    if (const auto* hot = std::get_if<HotRows>(distribution)) load.turn_rows = hot->count;
  }
  return load;
}

/// The error of answers of this kind.
CalibrationError error_of(const ScatterAnswer& answer) {
  const ContentionProfile& profile = answer.profile;
  if (!profile.sweep) return calibration_error(profile, contention_points());
  const bool other = answer.question.construct != profile.sweep->construct || answer.question.path;
  return calibration_error(profile, answer.cost.load, answer.cost.prediction, other);
}

}  // namespace

ScatterAnswer scatter(const ScatterQuestion& question, const Context& context) {
  const std::vector<Lowering>& table = builtin_lowerings();
  const ScatterDevice device = scatter_device(question.device, context);
  const Lowering& lowering =
      find_lowering(table, question.construct, device.device->architecture, question.dtype);
  ScatterAnswer answer{.question = question, .profile = device.profile};
  answer.question.device = device.device->name;
  ScatterLoad& load = answer.cost.load;
  load = load_of(question, lowering);
  if (load.path == lowering.path) answer.cost.instruction = lowering.instruction;

  answer.collisions = count_rows(question, context);
  answer.question.updates = answer.collisions.updates;
  describe_collisions(answer.collisions, load);
  const std::int64_t element = element_bytes(load.type);
  load.sent_sectors = static_cast<double>(
      sent_sectors(answer.collisions, load.width * element, kWarpLanes * load.vector_width * element));
  const double elements = static_cast<double>(load.updates) * static_cast<double>(load.width);
  load.streamed_bytes = elements * static_cast<double>(element_bytes(load.type)) +
                        index_bytes(lowering.index, load.updates, load.width);
  if (lowering.issue == IssueCost::kBare) load.issue_ns = device.profile.issue_bare_ns;
  predict_cost(answer.collisions, question.rows, question.details, table, device, answer.cost);
  if (question.details.calibration) answer.calibration = error_of(answer);
  return answer;
}

}  // namespace natten_sim::study
