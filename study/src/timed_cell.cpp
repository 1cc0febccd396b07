#include "timed_cell.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "copies.hpp"
#include "found_costs.hpp"
#include "timed_launch.hpp"

namespace natten_sim::study {
namespace {

/// What NATTEN copies around the kernel. None where copies are made and nobody has timed them, as on one axis
/// and by those who call FlexAttention themselves.
std::optional<Copies> copies_of(const TimeQuestion& question, const TimedCell& cell) {
  const TimedKernel& kernel = cell.kernel;
  const Catalog& catalog = cell.context->catalog;
  if (kernel.dense || kernel.in_place || !permutes_tokens(kernel.family)) return Copies{};
  if (question.tiling == Tiling::kSingleDimensional || flattens(question, kernel)) return Copies{};
  if ((kernel.own != nullptr || !natten_runs(question.kernel)) && cell.costs.permutation.empty()) return std::nullopt;
  const std::optional<PermutationRate> rate =
      copy_rate(cell.costs, *cell.device, question.mask.rank(), catalog.natten_release(question.natten), catalog);
  if (!rate) return std::nullopt;
  const TokenPermutation permutation =
      token_permutation(question.mask, kernel.family, question.tiles, question.pass, question.sizes);
  return Copies{copies_ms(permutation, *rate, copy_launch_us(catalog)),
                CopyEvidence{rate->natten, rate->origin, rate->interval, rate->source}};
}

/// NATTEN's kernels of a family without grouped heads are handed K and V of all heads. None: the rate of the
/// device's memory is not known.
std::optional<double> repetition_ms(const TimeQuestion& question, const TimedKernel& kernel,
                                    const Catalog& catalog, const Device& device) {
  const bool of_natten = !kernel.dense || kernel.name == fmha_name(kernel.family);
  if (!of_natten || kernel.in_place) return 0.0;
  const std::vector<HeadRepetition> copies =
      kv_repetition(all_keys(question), kernel.family, question.pass, question.sizes);
  if (!copies.empty() && !device.dram_bytes_per_s) return std::nullopt;
  double ms = 0;
  for (const HeadRepetition& copy : copies)
    ms += 1e-3 * copy_launch_us(catalog) +
          1e3 * static_cast<double>(checked_add(copy.bytes_read, copy.bytes_written, "bytes")) /
              device.dram_bytes_per_s->value;
  return ms;
}

const char* largest_part(const LaunchTime& parts, double permutation_ms, double repetition_ms) {
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

/// `pass` of a kernel with no tile masked, all tokens against `keys`.
double unmasked_ms(const TimeQuestion& question, const TimedKernel& kernel, PassCosts pass, const TimedCell& cell,
                   std::int64_t keys) {
  const Device& device = *cell.device;
  const NattenBackend family = kernel.family;
  const std::int64_t tokens = product(input_of(question.mask), "tokens");
  LaunchWork work =
      dense_launch_work({family, pass.q_tile_tokens, pass.kv_tile_tokens}, tokens, keys, question.pass,
                        question.sizes.batch * question.sizes.heads, device.sms->value * pass.ctas_per_sm);
  const RaggedTiles ragged = ragged_tiles(question, {kernel, device, pass, cell.context->catalog}, keys, false);
  work.pace = ragged.pace;
  if (ragged.lone_share > 0 && work.ctas > static_cast<double>(work.workers)) pass.lone_share = ragged.lone_share;
  work.waves = waves_of_equal(work.ctas, device.sms->value, pass);
  if (family == NattenBackend::kCutlassFna && pass.step_jitter > 0) {
    const CutlassWork cutlass = dense_cutlass_work(question, pass, false, device.sms->value);
    work.spread = cutlass.spread;
    work.missing = cutlass.missing;
    work.waves = 0;
  }
  return launch_time(work, with_rest(pass, question.rest_ms)).total_ms;
}

/// Whether the dense attention that a window replaces is causal: on one axis every dense kernel has that mask.
bool replaces_causal(const TimeQuestion& question) {
  return question.mask.rank() == 1 && question.mask[0].causal && question.additional_keys == 0;
}

/// `kernel` on all tokens of a causal axis.
double causal_ms(TimeQuestion question, const TimedKernel& kernel, const PassCosts& pass, const TimedCell& cell) {
  const std::int64_t tokens = question.mask[0].length;
  question.mask = NeighborhoodMask{AxisMask{.length = tokens, .window = tokens, .causal = true}};
  question.kernel = kernel.name;
  question.tiles = {};
  question.tiling = Tiling::kMultiDimensional;
  question.visits.reset();
  question.ctas.reset();
  const LaunchWork work = launch_of(question, {kernel, *cell.device, pass, cell.context->catalog}, nullptr);
  return launch_time(work, with_rest(pass, question.rest_ms)).total_ms;
}

PassCosts without_evidence(PassCosts costs) {
  costs.evidence = {};
  return costs;
}

/// The fastest dense kernel whose times rest on no weaker evidence or, where there is none, the same kernel without a
/// mask; of a dense kernel itself.
void find_dense(const TimeQuestion& question, const TimedCell& cell, Surroundings& around) {
  const TimedKernel& kernel = cell.kernel;
  const Device& device = *cell.device;
  const std::int64_t keys = all_keys(question);
  const std::optional<std::string> natten =
      cell.dense.empty() ? std::nullopt : natten_fmha(question, device, cell.context->catalog);
  const bool known = compute_capability(device) && !cell.context->catalog.natten.empty();
  const bool causal = replaces_causal(question);
  if (causal && kernel.dense && !question.ctas) {
    around.dense_kernel = kernel.name;
    around.dense_masked = around.dense_itself = true;
    return;
  }
  std::optional<double> least;
  for (const auto& [dense, costs] : cell.dense) {
    // NATTEN looks up its kernels by head dim and type; cutlass-fmha has all of them.
    const bool looked_up = !kernel.dense && !dense.library && dense.family != NattenBackend::kCutlassFna;
    if (looked_up && known && natten != dense.name) continue;
    const double ms = (causal ? causal_ms(question, dense, costs, cell) : unmasked_ms(question, dense, costs, cell, keys)) +
                      repetition_ms(question, dense, cell.context->catalog, device).value_or(0);
    if (least && ms >= *least) continue;
    least = ms;
    around.dense_kernel = dense.name;
    around.dense_masked = causal;
    around.dense_unordered = question.deterministic && question.pass == Walk::kBackward &&
                             (dense.library || dense.family != NattenBackend::kCutlassFna);
  }
  if (!least) {
    around.dense_kernel = kernel.name + (kernel.dense ? "" : " without a mask");
    least = unmasked_ms(question, kernel, cell.pass, cell, keys) +
            repetition_ms(question, kernel, cell.context->catalog, device).value_or(0);
  }
  around.dense_ms = *least;
}

/// Whether no run that the costs rest on was launched as the question's is. Keys of runs name a schedule that
/// is not cooperative.
bool schedule_unmeasured(const TimeQuestion& question, const TimedKernel& kernel,
                         const CostEvidence& evidence) {
  if (kernel.dense || question.schedule != KernelSchedule::kPingpong) return false;
  return std::none_of(evidence.fitted.begin(), evidence.fitted.end(),
                      [&](const std::string& key) { return key.ends_with(to_string(question.schedule)); });
}

void take_masking(const std::vector<CostPrior>& priors, TimedCell& cell) {
  const auto spread = [&](const char* name) {
    const auto found =
        std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
    return found == priors.end() ? 0 : found->spread;
  };
  const auto measured = [&](const std::string& start) {
    const std::vector<std::string>& kinds = cell.pass.evidence.kinds;
    return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) { return kind.starts_with(start); });
  };
  cell.masked_spread = spread("masked");
  cell.bounds_spread = spread("bounds_masked");
  cell.axis_spread = spread("axis");
  cell.unmasked_known = measured("unmasked");
  cell.bounds_known = measured("bounds-masked");
  cell.masked_known = measured("masked");
  for (std::size_t axis = 0; axis < cell.axes_known.size(); ++axis)
    cell.axes_known[axis] = measured("masked " + std::to_string(axis + 1) + "-D");
}

/// Of tiles that are masked in a way that no fitted run had, the cost is the prior's: twice its spread, as a
/// share of the time.
double unmeasured_masking(const LaunchWork& work, const PassCosts& costs, const TimedCell& cell) {
  const double masked_us = costs.masked_tile_us[work.axes - 1];
  const double unmasked = work.unmasked_tiles * costs.unmasked_tile_us,
               bounds = work.bounds_masked_tiles * costs.bounds_masked_tile_us,
               masked = work.masked_tiles * masked_us;
  double open = 0;
  if (!cell.unmasked_known && !cell.bounds_known) open += cell.masked_spread * unmasked;
  if (!cell.bounds_known) open += cell.bounds_spread * bounds;
  if (!cell.masked_known) {
    open += cell.masked_spread * masked;
  } else if (!cell.axes_known[work.axes - 1]) {
    open += cell.axis_spread * work.masked_tiles * (masked_us - costs.unmasked_tile_us);
  }
  const double all = unmasked + bounds + masked + work.ctas * costs.cta_us;
  return all > 0 ? 2 * open / all : 0;
}

/// The pass over additional keys; none: no dense kernel that serves them is calibrated.
std::optional<double> additional_ms(const TimeQuestion& question, const TimedCell& cell) {
  if (cell.kernel.dense || question.additional_keys == 0) return 0.0;
  const Device& device = *cell.device;
  const Catalog& catalog = cell.context->catalog;
  const std::optional<TimedKernel> dense =
      additional_kernel(cell.kernel, device, cell_of(question, cell.kernel.name, device), catalog);
  if (!dense) return std::nullopt;
  const auto found = costs_of_cell(cell_of(question, dense->name, device), catalog);
  const auto* costs = std::get_if<KernelCosts>(&found);
  if (costs == nullptr) return std::nullopt;
  return unmasked_ms(question, *dense, costs->passes.front(), cell, question.additional_keys);
}

/// A library's kernel with lists of blocks and a mask function. One that reads tables (MaskFunction::kTables) takes more
/// for every pair, and backward slows full blocks down as well.
PassCosts with_function_of_blocks(const TimeQuestion& question, const TimedCell& cell, double instructions) {
  PassCosts costs = cell.pass;
  double own = kElementOfFlash;
  if (question.mask_function == MaskFunction::kTables) {
    const std::vector<CostPrior> priors =
        cell.context->catalog.cost_priors.of(question.pass, cell.kernel.name, question.sizes.head_dim);
    own += prior_value(priors, "read_instructions", 0);
    costs.unmasked_tile_us *= prior_value(priors, "read_pace", 1);
  }
  return with_mask_instructions(std::move(costs), instructions + own, *cell.device);
}

/// FlexAttention's kernel with a mask function other than tables. On Hopper some leave an SM room for a second CTA.
PassCosts with_function(const TimeQuestion& question, const TimedCell& cell, double instructions) {
  PassCosts costs = with_mask_instructions(cell.pass, instructions, *cell.device);
  const bool tables = question.mask_function == MaskFunction::kTables;
  constexpr std::int64_t kHopper = 90;
  if (cell.kernel.name != kFlexAttention || tables || compute_capability(*cell.device) != kHopper) return costs;
  const std::vector<CostPrior> priors =
      cell.context->catalog.cost_priors.of(question.pass, cell.kernel.name, question.sizes.head_dim);
  const double pace = prior_value(priors, "two_ctas", 0);
  return pace > 0 && costs.ctas_per_sm == 1 ? with_two_ctas(std::move(costs), pace) : costs;
}

/// Measured errors are as large to both sides; those of transfers are factors.
std::pair<double, double> bounds(double ms, double half_width, bool measured) {
  const double low = measured ? std::max(0.0, ms - half_width) : ms * ms / (ms + half_width);
  return {low, ms + half_width};
}

}  // namespace

std::variant<TimedCell, MissingTime> timed_cell(const TimeQuestion& question, const Context& context) {
  const Catalog& catalog = context.catalog;
  TimedCell cell{.context = &context, .device = &catalog.device(question.device)};
  const Device& device = *cell.device;
  cell.kernel = timed_kernel(question.kernel, device, catalog);
  auto found = find_costs(question, cell.kernel, device, catalog);
  if (const auto* none = std::get_if<MissingTime>(&found)) return *none;
  cell.costs = std::get<KernelCosts>(std::move(found));
  cell.pass = *cell.costs.costs_of(question.pass);
  const PassCosts plain = without_evidence(cell.pass);
  cell.rested = with_rest(plain, question.rest_ms);
  cell.back_to_back = with_rest(plain, 0.0);
  take_masking(catalog.cost_priors.of(question.pass, cell.kernel.name, question.sizes.head_dim), cell);
  cell.schedule_unmeasured = schedule_unmeasured(question, cell.kernel, cell.pass.evidence);
  for (const TimedKernel& dense :
       cell.kernel.dense ? std::vector{cell.kernel} : dense_kernels(cell.kernel, device)) {
    const auto of_dense = costs_of_cell(cell_of(question, dense.name, device), catalog);
    const auto* costs = std::get_if<KernelCosts>(&of_dense);
    if (costs == nullptr || costs->passes.front().evidence.origin > cell.pass.evidence.origin) continue;
    cell.dense.emplace_back(dense, without_evidence(costs->passes.front()));
  }
  return cell;
}

MissingTime missing_additional(const TimeQuestion& question, const TimedKernel& kernel) {
  return MissingTime{"no measured times of the dense kernel that serves additional keys; " +
                 measurement(question, fmha_name(kernel.family))};
}

Surroundings surroundings_of(const TimeQuestion& question, const TimedCell& cell) {
  Surroundings around;
  around.added_ms = additional_ms(question, cell);
  if (!around.added_ms) return around;
  around.copies = copies_of(question, cell);
  around.repetition_ms = repetition_ms(question, cell.kernel, cell.context->catalog, *cell.device);
  find_dense(question, cell, around);
  return around;
}

FunctionCosts function_costs(const TimeQuestion& question, const TimedCell& cell) {
  const TimedKernel& kernel = cell.kernel;
  const bool given_blocks = kernel.library && question.ctas;
  if (kernel.name != kFlexAttention && !given_blocks && kernel.own == nullptr) {
    if (question.mask_function || question.mask_cost)
      throw InvalidParameter("mask-function", kernel.name, "the kernel flexattention, which evaluates one");
    return {};
  }
  const MaskFunction function = question.mask_function.value_or(MaskFunction::kTables);
  if (given_blocks && !question.mask_cost) return {};
  if (kernel.own != nullptr && !question.mask_cost && !question.mask_function) return {};
  FunctionCosts of_function;
  of_function.name = question.mask_cost ? "given" : to_string(function);
  of_function.instructions = question.mask_cost.value_or(mask_instructions(function, question.mask));
  if (given_blocks) {
    of_function.costs = with_function_of_blocks(question, cell, of_function.instructions);
  } else if (question.mask_cost || function != MaskFunction::kTables) {
    of_function.costs = with_function(question, cell, of_function.instructions);
  }
  return of_function;
}

TimeNumbers numbers_of(const TimeQuestion& question, const TimedCell& cell, const Surroundings& around,
                       const LaunchWork& work, const FunctionCosts& function) {
  const PassCosts& pass = function.costs ? *function.costs : cell.pass;
  TimeNumbers time;
  time.parts = launch_time(work, function.costs ? with_rest(pass, question.rest_ms) : cell.rested);
  time.kernel_ms = time.parts.total_ms + *around.added_ms;
  if (around.copies) time.permutation_ms = around.copies->ms;
  if (around.repetition_ms) time.repetition_ms = *around.repetition_ms;
  const double copies_ms = around.copies ? around.copies->ms : 0, repeated_ms = around.repetition_ms.value_or(0);
  time.total_ms = time.kernel_ms + copies_ms + repeated_ms;
  if (!question.rest_ms)
    time.back_to_back_ms =
        time.total_ms - time.parts.total_ms +
        launch_time(work, function.costs ? with_rest(pass, 0.0) : cell.back_to_back).total_ms;
  const double open = unmeasured_masking(work, pass, cell);
  const bool other_mask = !function.name.empty() && function.name != to_string(MaskFunction::kTables);
  const double by_mask = other_mask ? kMaskInterval * time.parts.masking_ms / time.parts.total_ms : 0;
  double interval = std::hypot(interval_of_launch(cell.pass.evidence, time.parts.total_ms), open, by_mask);
  // A persistent launch may hide a Q tile's prologue behind the one before.
  if (cell.schedule_unmeasured) interval += time.parts.prologue_ms / time.parts.total_ms;
  const bool timed_copies = around.copies && around.copies->evidence;
  const double half_width = std::hypot(interval * (time.total_ms - copies_ms),
                                       (timed_copies ? around.copies->evidence->interval : 0) * copies_ms);
  const bool measured = cell.pass.evidence.origin == CostOrigin::kMeasured;
  std::tie(time.low_ms, time.high_ms) = bounds(time.total_ms, half_width, measured);
  std::tie(time.kernel_low_ms, time.kernel_high_ms) = bounds(time.kernel_ms, interval * time.kernel_ms, measured);
  time.limited_by = largest_part(time.parts, copies_ms, repeated_ms);
  time.waves = work.ctas / static_cast<double>(work.workers);
  time.ctas = static_cast<std::int64_t>(work.ctas);
  time.tflops_per_s = 1e-9 * work.tiles() * static_cast<double>(pass.q_tile_tokens * pass.kv_tile_tokens) *
                      flops_a_pair(question) / time.parts.total_ms;
  time.dense_ms = around.dense_itself ? time.total_ms : around.dense_ms;
  return time;
}

}  // namespace natten_sim::study
