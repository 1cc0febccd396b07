#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/time.hpp>

#include "copies.hpp"
#include "dense_sequence.hpp"
#include "flex_blocks.hpp"
#include "found_costs.hpp"
#include "timed_kernel.hpp"
#include "timed_launch.hpp"

namespace natten_sim::study {
namespace {

std::int64_t all_keys(const TimeQuestion& question) {
  return checked_add(product(input_of(question.mask), "tokens"), question.additional_keys, "tokens");
}

struct Copies {
  double ms = 0;
  std::optional<CopyEvidence> evidence;
};

/// What NATTEN copies around the kernel. None where copies are made and nobody has timed them, as on one axis
/// and by those who call FlexAttention themselves.
std::optional<Copies> copies_of(const TimeQuestion& question, const TimedKernel& kernel,
                                const KernelCosts& costs, const Device& device, const Catalog& catalog) {
  if (kernel.dense || kernel.in_place || !permutes_tokens(kernel.family)) return Copies{};
  if (question.tiling == Tiling::kSingleDimensional || flattens(question, kernel)) return Copies{};
  if ((kernel.own != nullptr || !natten_runs(question.kernel)) && costs.permutation.empty()) return std::nullopt;
  const std::optional<PermutationRate> rate =
      copy_rate(costs, device, question.mask.rank(), catalog.natten_release(question.natten), catalog);
  if (!rate) return std::nullopt;
  const TokenPermutation permutation =
      token_permutation(question.mask, kernel.family, question.tiles, question.pass, question.sizes);
  return Copies{copies_ms(permutation, *rate, costs.costs_of(question.pass)->launch_us),
                CopyEvidence{rate->natten, rate->origin, rate->interval, rate->source}};
}

/// NATTEN's kernels of a family without grouped heads are handed K and V of all heads. None: the rate of the
/// device's memory is not known.
std::optional<double> repetition_ms(const TimeQuestion& question, const TimedKernel& kernel,
                                    const PassCosts& costs, const Device& device) {
  const bool of_natten = !kernel.dense || kernel.name == fmha_name(kernel.family);
  if (!of_natten || kernel.in_place) return 0.0;
  const std::vector<HeadRepetition> copies =
      kv_repetition(all_keys(question), kernel.family, question.pass, question.sizes);
  if (!copies.empty() && !device.dram_bytes_per_s) return std::nullopt;
  double ms = 0;
  for (const HeadRepetition& copy : copies)
    ms += 1e-3 * costs.launch_us +
          1e3 * static_cast<double>(checked_add(copy.bytes_read, copy.bytes_written, "bytes")) /
              device.dram_bytes_per_s->value;
  return ms;
}

std::string largest_part(const LaunchTime& parts, double permutation_ms, double repetition_ms) {
  const std::pair<const char*, double> named[] = {
      {"tiles", parts.tiles_ms},       {"masking", parts.masking_ms}, {"prologue", parts.prologue_ms},
      {"tail", parts.tail_ms},         {"launch", parts.launch_ms},   {"power", parts.slowdown_ms},
      {"permutation", permutation_ms}, {"repetition", repetition_ms}};
  return std::max_element(std::begin(named), std::end(named),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

double flops_a_pair(const TimeQuestion& question) {
  const auto d = static_cast<double>(question.sizes.head_dim);
  return question.pass == Walk::kForward ? 4 * d : 10 * d;
}

/// `pass` of a kernel of `family` with no tile masked, all tokens against `keys`.
double unmasked_ms(const TimeQuestion& question, const PassCosts& pass, const Device& device,
                   NattenBackend family, std::int64_t keys) {
  const std::int64_t tokens = product(input_of(question.mask), "tokens");
  LaunchWork work =
      dense_launch_work({family, pass.q_tile_tokens, pass.kv_tile_tokens}, tokens, keys, question.pass,
                        question.sizes.batch * question.sizes.heads, device.sms->value * pass.ctas_per_sm);
  work.waves = waves_of_equal(work.ctas, device.sms->value, pass);
  if (family == NattenBackend::kCutlassFna && pass.step_jitter > 0) {
    const CutlassWork cutlass = dense_cutlass_work(question, pass, false, device.sms->value);
    work.spread = cutlass.spread;
    work.missing = cutlass.missing;
    work.waves = 0;
  }
  return launch_time(work, with_rest(pass, question.rest_ms)).total_ms;
}

/// All tokens against `keys` by a dense kernel; none: it has no times, or on weaker evidence.
std::optional<double> dense_ms(const TimeQuestion& question, const TimedKernel& dense, const Device& device,
                               const Context& context, std::int64_t keys, CostOrigin weakest = CostOrigin::kPhysical) {
  const auto found = costs_of_cell(cell_of(question, dense.name, device), context.catalog);
  const auto* costs = std::get_if<KernelCosts>(&found);
  if (costs == nullptr || costs->passes.front().evidence.origin > weakest) return std::nullopt;
  return unmasked_ms(question, costs->passes.front(), device, dense.family, keys);
}

/// Over the fastest dense kernel whose times rest on no weaker evidence or, where there is none, over the same kernel
/// without a mask; a dense kernel over itself.
void add_speedup(const TimeQuestion& question, const TimedKernel& kernel, const KernelCosts& costs,
                 const Device& device, const Context& context, PassTime& time) {
  const PassCosts& pass = *costs.costs_of(question.pass);
  const std::vector<TimedKernel> others = kernel.dense ? std::vector{kernel} : dense_kernels(kernel, device);
  const std::optional<std::string> natten = natten_fmha(question, device, context.catalog);
  const bool known = compute_capability(device) && !context.catalog.natten.empty();
  for (const TimedKernel& dense : others) {
    // NATTEN looks up its kernels by head dim and type; cutlass-fmha has all of them.
    const bool looked_up = !kernel.dense && !dense.library && dense.family != NattenBackend::kCutlassFna;
    if (looked_up && known && natten != dense.name) continue;
    std::optional<double> ms = dense_ms(question, dense, device, context, all_keys(question), pass.evidence.origin);
    if (ms) *ms += repetition_ms(question, dense, pass, device).value_or(0);
    if (!ms || (time.dense_ms && *ms >= *time.dense_ms)) continue;
    time.dense_ms = ms;
    time.dense_kernel = dense.name;
    time.dense_unordered = question.deterministic && question.pass == Walk::kBackward &&
                           (dense.library || dense.family != NattenBackend::kCutlassFna);
  }
  if (!time.dense_ms) {
    time.dense_kernel = kernel.name + (kernel.dense ? "" : " without a mask");
    time.dense_ms = unmasked_ms(question, pass, device, kernel.family, all_keys(question)) +
                    repetition_ms(question, kernel, pass, device).value_or(0);
  }
  time.speedup = *time.dense_ms / time.total_ms;
  time.speedup_kernel = *time.dense_ms / time.kernel_ms;
}

/// Whether no run that the costs rest on was launched as the question's is. Keys of runs name a schedule that
/// is not cooperative.
bool schedule_unmeasured(const TimeQuestion& question, const TimedKernel& kernel,
                         const CostEvidence& evidence) {
  if (kernel.dense || question.schedule != KernelSchedule::kPingpong) return false;
  return std::none_of(evidence.fitted.begin(), evidence.fitted.end(),
                      [&](const std::string& key) { return key.ends_with(to_string(question.schedule)); });
}

double spread_of(const std::vector<CostPrior>& priors, const char* name) {
  const auto found =
      std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
  return found == priors.end() ? 0 : found->spread;
}

/// Of tiles that are masked in a way that no fitted run had, the cost is the prior's: twice its spread, as a
/// share of the time.
double unmeasured_masking(const LaunchWork& work, const PassCosts& costs,
                          const std::vector<CostPrior>& priors) {
  const auto measured = [&](const std::string& start) {
    return std::any_of(costs.evidence.kinds.begin(), costs.evidence.kinds.end(),
                       [&](const std::string& kind) { return kind.starts_with(start); });
  };
  const double masked_us = costs.masked_tile_us[work.axes - 1];
  const double unmasked = work.unmasked_tiles * costs.unmasked_tile_us,
               bounds = work.bounds_masked_tiles * costs.bounds_masked_tile_us,
               masked = work.masked_tiles * masked_us;
  double open = 0;
  if (!measured("unmasked") && !measured("bounds-masked")) open += spread_of(priors, "masked") * unmasked;
  if (!measured("bounds-masked")) open += spread_of(priors, "bounds_masked") * bounds;
  if (!measured("masked")) {
    open += spread_of(priors, "masked") * masked;
  } else if (!measured("masked " + std::to_string(work.axes) + "-D")) {
    open += spread_of(priors, "axis") * work.masked_tiles * (masked_us - costs.unmasked_tile_us);
  }
  const double all = unmasked + bounds + masked + work.ctas * costs.cta_us;
  return all > 0 ? 2 * open / all : 0;
}

/// The pass over additional keys; none: no dense kernel that serves them is calibrated.
std::optional<double> additional_ms(const TimeQuestion& question, const TimedKernel& kernel,
                                    const Device& device, const Context& context) {
  if (kernel.dense || question.additional_keys == 0) return 0.0;
  const std::optional<TimedKernel> dense =
      additional_kernel(kernel, device, cell_of(question, kernel.name, device), context.catalog);
  return dense ? dense_ms(question, *dense, device, context, question.additional_keys) : std::nullopt;
}

MissingTime missing_additional(const TimeQuestion& question, const TimedKernel& kernel) {
  return MissingTime{"no measured times of the dense kernel that serves additional keys; " +
                 measurement(question, fmha_name(kernel.family))};
}

/// A library's kernel with lists of blocks and a mask function. One that reads tables (MaskFunction::kTables) takes more
/// for every pair, and backward slows full blocks down as well.
PassCosts with_function_of_blocks(const TimeQuestion& question, const TimedKernel& kernel, PassCosts costs,
                                  double instructions, const Device& device, const Catalog& catalog) {
  double own = kElementOfFlash;
  if (question.mask_function == MaskFunction::kTables) {
    const std::vector<CostPrior> priors =
        catalog.cost_priors.of(question.pass, kernel.name, question.sizes.head_dim);
    own += prior_value(priors, "read_instructions", 0);
    costs.unmasked_tile_us *= prior_value(priors, "read_pace", 1);
  }
  return with_mask_instructions(std::move(costs), instructions + own, device);
}

/// Costs with the question's mask function, which goes into `time` too.
PassCosts with_mask_function(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                             const Device& device, const Catalog& catalog, PassTime& time) {
  const bool given_blocks = kernel.library && question.ctas;
  if (kernel.name != kFlexAttention && !given_blocks && kernel.own == nullptr) {
    if (question.mask_function || question.mask_cost)
      throw InvalidParameter("mask-function", kernel.name, "the kernel flexattention, which evaluates one");
    return costs;
  }
  const MaskFunction function = question.mask_function.value_or(MaskFunction::kTables);
  if (given_blocks && !question.mask_cost) return costs;
  if (kernel.own != nullptr && !question.mask_cost && !question.mask_function) return costs;
  time.mask_function = question.mask_cost ? "given" : to_string(function);
  time.mask_instructions = question.mask_cost.value_or(mask_instructions(function, question.mask));
  if (given_blocks) return with_function_of_blocks(question, kernel, costs, time.mask_instructions, device, catalog);
  if (!question.mask_cost && function == MaskFunction::kTables) return costs;
  return with_mask_instructions(costs, time.mask_instructions, device);
}

/// Measured errors are as large to both sides; those of transfers are factors.
std::pair<double, double> bounds(double ms, double half_width, bool measured) {
  const double low = measured ? std::max(0.0, ms - half_width) : ms * ms / (ms + half_width);
  return {low, ms + half_width};
}

}  // namespace

std::variant<TimeFrame, MissingTime> time_frame(const TimeQuestion& question, const Context& context) {
  const Device& device = context.catalog.device(question.device);
  const TimedKernel kernel = timed_kernel(question.kernel, device, context.catalog);
  const auto found = find_costs(question, kernel, device, context.catalog);
  if (const auto* none = std::get_if<MissingTime>(&found)) return *none;
  const auto& costs = std::get<KernelCosts>(found);
  const std::optional<double> added = additional_ms(question, kernel, device, context);
  if (!added) return missing_additional(question, kernel);
  TimeFrame frame;
  frame.costs = on_axes(with_rest(*costs.costs_of(question.pass), question.rest_ms), question.mask.rank());
  frame.family = kernel.family;
  frame.workers = device.sms->value * frame.costs.ctas_per_sm;
  const std::optional<Copies> copies = copies_of(question, kernel, costs, device, context.catalog);
  frame.added_ms =
      *added + (copies ? copies->ms : 0) + repetition_ms(question, kernel, frame.costs, device).value_or(0);
  PassTime time;
  time.kernel_ms = time.total_ms = 1;
  add_speedup(question, kernel, costs, device, context, time);
  frame.dense_ms = time.dense_ms;
  return frame;
}

TimeQuestion resolved(const TimeQuestion& question, const Context& context) {
  TimeQuestion result = question;
  const Catalog& catalog = context.catalog;
  const Device& device = catalog.device(question.device);
  if (question.kernel == "fmha") result.kernel = natten_fmha(question, device, catalog).value_or(question.kernel);
  const TimedKernel kernel = timed_kernel(result.kernel, device, catalog);
  if (has_cycle(question.mask)) require_cyclic_kernel(question.kernel);
  if (kernel.dense && !question.ctas) require_dense_mask(question.kernel, question.mask);
  const auto& [q_tile, kv_tile] = question.tiles;
  if (kernel.dense || (!q_tile.empty() && !kv_tile.empty()) || question.mask.rank() > 3) return result;
  Setting setting;
  setting.device = question.device;
  setting.backend = to_string(kernel.family);
  setting.input = input_of(question.mask);
  setting.head_dim = question.sizes.head_dim;
  setting.dtype = question.dtype;
  // FlexAttention runs a backward pass with the blocks of the forward one.
  const bool one_table = effective_backend(setting, catalog).backward.empty();
  const Walk pass = one_table ? Walk::kForward : question.pass;
  if (kernel.family == NattenBackend::kFlexFna && (kernel.own != nullptr || !natten_runs(question.kernel))) {
    const TilingProblem open{.mask = question.mask, .tiles = question.tiles, .tiling = question.tiling};
    result.tiles = block_tiles(open, block_tokens(kernel, setting, pass, catalog));
    return result;
  }
  result.tiles = choose_tiles(setting, catalog, q_tile, kv_tile, question.mask.rank(), pass).tiles;
  return result;
}

void compare_with_causal(TimeQuestion question, const Context& context, PassTime& time) {
  const Device& device = context.catalog.device(question.device);
  const TimedKernel kernel = timed_kernel(question.kernel, device, context.catalog);
  question.mask[0].window = question.mask[0].length;
  question.mask[0].causal = true;
  question.tiles = {};
  question.tiling = Tiling::kMultiDimensional;
  std::optional<double> least;
  for (const TimedKernel& dense : dense_kernels(kernel, device)) {
    question.kernel = dense.name;
    const auto costs = costs_of_cell(cell_of(question, dense.name, device), context.catalog);
    const auto* known = std::get_if<KernelCosts>(&costs);
    if (known == nullptr || known->passes.front().evidence.origin > time.evidence.origin) continue;
    const TimeAnswer answer = study::time(question, context);
    const auto* found = std::get_if<PassTime>(&answer);
    if (found == nullptr || (least && found->total_ms >= *least)) continue;
    least = found->total_ms;
    time.dense_kernel = dense.name;
  }
  if (!least) return;
  time.dense_masked = true;
  time.dense_ms = least;
  time.speedup = *least / time.total_ms;
  time.speedup_kernel = *least / time.kernel_ms;
}

TimeAnswer time(const TimeQuestion& asked, const Context& context) {
  const TimeQuestion question = resolved(asked, context);
  const Device& device = context.catalog.device(question.device);
  const TimedKernel kernel = timed_kernel(question.kernel, device, context.catalog);
  const auto found = find_costs(question, kernel, device, context.catalog);
  if (const auto* none = std::get_if<MissingTime>(&found)) return *none;
  const auto& costs = std::get<KernelCosts>(found);
  PassTime time;
  const PassCosts pass = with_mask_function(question, kernel, *costs.costs_of(question.pass), device, context.catalog, time);
  const LaunchWork work = work_of(question, pass, context);
  time.parts = launch_time(work, with_rest(pass, question.rest_ms));
  time.kernel_ms = time.parts.total_ms;
  const std::optional<double> added = additional_ms(question, kernel, device, context);
  if (!added) return missing_additional(question, kernel);
  time.kernel_ms += *added;
  if (const auto copies = copies_of(question, kernel, costs, device, context.catalog)) {
    time.permutation_ms = copies->ms;
    time.copies = copies->evidence;
  }
  time.repetition_ms = repetition_ms(question, kernel, pass, device);
  time.total_ms = time.kernel_ms + time.permutation_ms.value_or(0) + time.repetition_ms.value_or(0);
  if (!question.rest_ms)
    time.back_to_back_ms = time.total_ms - time.parts.total_ms + launch_time(work, with_rest(pass, 0.0)).total_ms;
  const double open =
      unmeasured_masking(work, pass, context.catalog.cost_priors.of(question.pass, kernel.name, question.sizes.head_dim));
  const bool other_mask = !time.mask_function.empty() && time.mask_function != to_string(MaskFunction::kTables);
  const double by_mask = other_mask ? kMaskInterval * time.parts.masking_ms / time.parts.total_ms : 0;
  double interval = std::hypot(pass.evidence.interval, open, by_mask);
  if (schedule_unmeasured(question, kernel, pass.evidence)) {
    // A persistent launch may hide a Q tile's prologue behind the one before.
    interval += time.parts.prologue_ms / time.parts.total_ms;
    time.unmeasured = "no measured times of " + kernel.name + " on " + device.name +
                      " with the pingpong schedule: " +
                      "costs are those of cooperative launches; a few measured times with it calibrate it";
  }
  const double copies_ms = time.permutation_ms.value_or(0);
  const double half_width = std::hypot(interval * (time.total_ms - copies_ms),
                                       (time.copies ? time.copies->interval : 0) * copies_ms);
  const bool measured = pass.evidence.origin == CostOrigin::kMeasured;
  std::tie(time.low_ms, time.high_ms) = bounds(time.total_ms, half_width, measured);
  std::tie(time.kernel_low_ms, time.kernel_high_ms) = bounds(time.kernel_ms, interval * time.kernel_ms, measured);
  time.limited_by = largest_part(time.parts, time.permutation_ms.value_or(0), time.repetition_ms.value_or(0));
  time.waves = work.ctas / static_cast<double>(work.workers);
  time.ctas = static_cast<std::int64_t>(work.ctas);
  time.tflops_per_s = 1e-9 * work.tiles() * static_cast<double>(pass.q_tile_tokens * pass.kv_tile_tokens) *
                      flops_a_pair(question) / time.parts.total_ms;
  time.evidence = pass.evidence;
  add_speedup(question, kernel, costs, device, context, time);
  return time;
}

}  // namespace natten_sim::study
