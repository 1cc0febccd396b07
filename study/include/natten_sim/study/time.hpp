#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/split_q.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/mask_function.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// The pairs of tiles of one CTA, and its share of what a pair takes: 1 where no other CTA has the same pair.
struct CtaWork {
  CtaVisits visits;
  double share = 1;
};

/// Share of a pair's time that FlexAttention's CTAs of keys take backward, which make dK and dV; those of queries, which
/// make dQ, take the rest. They multiply 4 of the 7 products.
inline constexpr double kShareOfKeyCtas = 4.0 / 7;

/// How many milliseconds does one pass of a kernel take? What `count` says of the same problem is this.
struct TimeQuestion {
  /// `hopper-fna`, `blackwell-fna`, `cutlass-fna`, `flexattention`, or a dense kernel: `hopper-fmha`,
  /// `cudnn`; `fmha` is that of the device's backend; or one of a kernel file that the catalog has (WithKernels).
  std::string kernel;
  std::string device;
  KernelSchedule schedule = KernelSchedule::kCooperative;
  NeighborhoodMask mask;  ///< 1 to 3 axes; of a dense kernel full, or causal on one
  TilePair tiles;         ///< of this pass; empty: as `count` has them; ignored by a dense kernel
  /// Single-dimensional: blocks of the row-major sequence, which FlexAttention alone runs; wants `visits`.
  Tiling tiling = Tiling::kMultiDimensional;
  Walk pass = Walk::kForward;
  OperandSizes sizes;  ///< batch, heads and head dims
  Dtype dtype = kDefaultDtype;
  std::optional<std::string> natten;  ///< release whose copies count; none: the newest
  std::int64_t additional_keys = 0;  ///< which every query sees besides, in a dense pass of their own
  bool deterministic = false;  ///< PyTorch's deterministic algorithms are on: cutlass-fna's backward pass has a CTA a head
  /// Between one launch and the next, in which the GPU rests or does lighter work; none: longer than its power
  /// limit remembers.
  std::optional<double> rest_ms = {};
  /// What FlexAttention's partial blocks evaluate; none: tables, with which its costs were measured.
  std::optional<MaskFunction> mask_function = {};
  std::optional<double> mask_cost = {};  ///< instructions a pair of tokens of another one, in its place
  /// What the kernel visits in this pass, as natten_visits() counts it; none: counted. A dense kernel's are.
  std::optional<KernelVisits> visits = {};
  /// With `visits`: what each CTA does, of a mask that is given block by block, and of how many heads they are. `mask`
  /// then tells the tokens alone.
  std::shared_ptr<const std::vector<CtaWork>> ctas = {};
  std::int64_t ctas_heads = 1;
};

/// What the time of copies rests on.
struct CopyEvidence {
  std::string natten;  ///< the first release with these copies; empty: any
  CopyOrigin origin = CopyOrigin::kMeasured;
  double interval = 0;  ///< half width, as a fraction
  std::string source;
};

/// A prediction, where it comes from, and how far it may be off.
struct PassTime {
  double kernel_ms = 0;
  std::optional<double> permutation_ms;  ///< copies into tiles and back; none: their rate is not known
  /// K and V repeated for all query heads, where heads_kv is smaller and the kernel needs it: bytes over the
  /// device's memory rate and a launch each, which nobody has measured. None: that rate is not known.
  std::optional<double> repetition_ms;
  double total_ms = 0;                   ///< the kernel, and the copies whose rate is known
  double low_ms = 0, high_ms = 0;        ///< of the total
  double kernel_low_ms = 0, kernel_high_ms = 0;  ///< of the kernel
  /// The total of launches that follow each other without a rest; none: the question names a rest.
  std::optional<double> back_to_back_ms;
  std::string limited_by;  ///< the largest part: tiles, masking, prologue, tail, launch, power, permutation,
                           ///< repetition
  LaunchTime parts;        ///< of the kernel, without the pass over additional keys
  double waves = 0;        ///< CTAs over workers
  std::int64_t ctas = 0;
  double tflops_per_s = 0;               ///< of what the kernel multiplies, over its time
  std::string dense_kernel;              ///< the device's fastest, else the kernel itself without a mask
  bool dense_unordered = false;          ///< deterministic gradients are asked for, which that kernel does not have
  bool dense_masked = false;             ///< dense_ms is of a causal mask, as the question's only axis has
  std::optional<double> dense_ms;        ///< the same tokens without a mask, or with a causal one
  std::optional<double> speedup;         ///< dense_ms / total_ms
  std::optional<double> speedup_kernel;  ///< dense_ms / kernel_ms
  CostEvidence evidence;
  std::optional<CopyEvidence> copies;  ///< where there are copies whose rate is known
  /// Of partial blocks that evaluate one: its name, `given` with a cost, or `rule`, counted from a mask's rules.
  std::string mask_function;
  double mask_instructions = 0;  ///< of that, a pair of tokens
  std::string unmeasured;  ///< what no run that the costs rest on had, and what would tell; empty: nothing
};

/// Why there is no prediction, and what measurement would give one.
struct MissingTime {
  std::string sentence;
};

using TimeAnswer = std::variant<PassTime, MissingTime>;

/// The question with tiles: of shapes that it leaves out, those that the kernel's backend takes by default
/// (choose_tiles). @throws as time().
[[nodiscard]] TimeQuestion resolved(const TimeQuestion& question, const Context& context);

/// Microseconds to milliseconds. @throws InvalidParameter, UnknownName on a question that makes no sense.
[[nodiscard]] TimeAnswer time(const TimeQuestion& question, const Context& context);

/// Most CTAs of a launch that are run one by one; of more the estimate of uneven_waves() is taken.
inline constexpr std::int64_t kMostSimulated = std::int64_t{1} << 20;

/// What the times of all windows and strides under one tile pair have in common.
struct TimeFrame {
  PassCosts costs;
  NattenBackend family = NattenBackend::kHopperFna;
  std::int64_t workers = 1;
  double added_ms = 0;             ///< copies whose rate is known, and the pass over additional keys
  std::optional<double> dense_ms;  ///< as in PassTime
};

/// `question.mask` tells layout and dilation alone. @throws as time().
[[nodiscard]] std::variant<TimeFrame, MissingTime> time_frame(const TimeQuestion& question,
                                                              const Context& context);

/// What one launch of the question does, with the waves of `costs`; the kernel itself, even where NATTEN
/// would call its dense one. Calibration fits on these.
[[nodiscard]] LaunchWork work_of(const TimeQuestion& question, const PassCosts& costs,
                                 const Context& context);

/// The same of 1, 2, .. as many heads as the question has, of a kernel of neighborhood attention that has all its CTAs in
/// one grid: one simulation tells the waves of all.
[[nodiscard]] std::vector<LaunchWork> works_of_heads(const TimeQuestion& question, const PassCosts& costs,
                                                     const Context& context);

/// The names that `kernel` may have.
[[nodiscard]] std::vector<std::string> timed_kernels();

/// Whether NATTEN's rules and copies concern a kernel of this name: not those who call FlexAttention
/// themselves, nor this project's own kernel.
[[nodiscard]] bool natten_runs(const std::string& kernel);

[[nodiscard]] inline bool natten_runs(const KernelChoice& kernel) {
  return kernel.own == nullptr && natten_runs(kernel.name);
}

/// How long the GPU rests between launches.
template <typename Members, typename Question>
void describe_rest(Members& members, const Question&) {
  members.add("rest_ms", &Question::rest_ms,
              {.value = "MS",
               .help = "Rest, or lighter work, between one launch and the next, 0..1e9 milliseconds; 0: back to "
                       "back [longer than the GPU's power limit remembers]",
               .interval = {0, 1e9},
               .accepted = "0 to 1e9 milliseconds",
               .echo = Echo::kWhenSet});
}

/// How a kernel is launched whose time is asked for.
template <typename Members, typename Question>
void describe_launch(Members& members, const Question& question) {
  members.add("kernel_schedule", &Question::kernel_schedule,
              {.value = "KIND",
               .help = "How hopper-fna takes Q tiles: cooperative (a grid) or pingpong (persistent) " +
                       default_text(TimeQuestion{}.schedule),
               .echo = Echo::kWhenSet});
  describe_rest(members, question);
}

/// What a mask function costs.
template <typename Members, typename Question>
void describe_mask_cost(Members& members, const Question&, const char* otherwise) {
  members.add("mask_cost", &Question::mask_cost,
              {.value = "N",
               .help = std::string("Instructions a pair of tokens of your own mask function, 0..1e6 [") + otherwise + "]",
               .interval = {0, 1e6},
               .accepted = "0 to 1e6 instructions",
               .echo = Echo::kWhenSet});
}

/// The mask function of a kernel that evaluates one.
template <typename Members, typename Question>
void describe_mask_function(Members& members, const Question& question) {
  members.add("mask_function", &Question::mask_function,
              {.value = "KIND",
               .help = "What FlexAttention's partial blocks evaluate: ranges from tables (natten_sim.flex), token "
                       "numbers alone (compare), or coordinates by division of tokens in row-major order (rows, as "
                       "--emit flex) or tile by tile (tiles) [tables]",
               .echo = Echo::kWhenSet});
  describe_mask_cost(members, question, "those of the mask function");
}

}  // namespace natten_sim::study
