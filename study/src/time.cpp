#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/time.hpp>

#include "dense_sequence.hpp"
#include "flex_blocks.hpp"
#include "found_costs.hpp"
#include "timed_cell.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {

std::variant<TimeFrame, MissingTime> time_frame(const TimeQuestion& question, const Context& context) {
  auto found = timed_cell(question, context);
  if (const auto* none = std::get_if<MissingTime>(&found)) return *none;
  const auto& cell = std::get<TimedCell>(found);
  const Surroundings around = surroundings_of(question, cell);
  if (!around.added_ms) return missing_additional(question, cell.kernel);
  TimeFrame frame;
  frame.costs = on_axes(with_rest(cell.pass, question.rest_ms), question.mask.rank(), has_causal_axis(question.mask));
  frame.family = cell.kernel.family;
  frame.workers = cell.device->sms->value * frame.costs.ctas_per_sm;
  frame.added_ms = *around.added_ms + (around.copies ? around.copies->ms : 0) + around.repetition_ms.value_or(0);
  frame.dense_ms = around.dense_ms;
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
  const bool own_backward = kernel.own != nullptr && kernel.own->backward;
  const Walk pass = one_table && !own_backward ? Walk::kForward : question.pass;
  if (kernel.family == NattenBackend::kFlexFna && (kernel.own != nullptr || !natten_runs(question.kernel))) {
    const TilingProblem open{.mask = question.mask, .tiles = question.tiles, .tiling = question.tiling, .walk = pass};
    result.tiles = block_tiles(open, block_tokens(kernel, setting, pass, catalog));
    return result;
  }
  result.tiles = choose_tiles(setting, catalog, q_tile, kv_tile, question.mask.rank(), pass).tiles;
  return result;
}

TimeAnswer time(const TimeQuestion& asked, const Context& context) {
  const TimeQuestion question = resolved(asked, context);
  const auto found = timed_cell(question, context);
  if (const auto* none = std::get_if<MissingTime>(&found)) return *none;
  const auto& cell = std::get<TimedCell>(found);
  const FunctionCosts function = function_costs(question, cell);
  const LaunchWork work = work_of(question, function.costs ? *function.costs : cell.pass, context);
  const Surroundings around = surroundings_of(question, cell);
  if (!around.added_ms) return missing_additional(question, cell.kernel);
  const TimeNumbers numbers = numbers_of(question, cell, around, work, function);
  PassTime time{.kernel_ms = numbers.kernel_ms,
                .total_ms = numbers.total_ms,
                .low_ms = numbers.low_ms,
                .high_ms = numbers.high_ms,
                .kernel_low_ms = numbers.kernel_low_ms,
                .kernel_high_ms = numbers.kernel_high_ms,
                .limited_by = numbers.limited_by,
                .parts = numbers.parts,
                .waves = numbers.waves,
                .ctas = numbers.ctas,
                .tflops_per_s = numbers.tflops_per_s,
                .dense_kernel = around.dense_kernel,
                .dense_unordered = around.dense_unordered,
                .dense_masked = around.dense_masked,
                .dense_ms = numbers.dense_ms,
                .speedup = numbers.dense_ms / numbers.total_ms,
                .speedup_kernel = numbers.dense_ms / numbers.kernel_ms,
                .evidence = cell.pass.evidence,
                .mask_function = function.name,
                .mask_instructions = function.instructions};
  take_length(time.evidence, numbers.parts.total_ms);
  if (around.copies) {
    time.permutation_ms = around.copies->ms;
    time.copies = around.copies->evidence;
  }
  time.repetition_ms = around.repetition_ms;
  if (!question.rest_ms) time.back_to_back_ms = numbers.back_to_back_ms;
  if (cell.schedule_unmeasured)
    time.unmeasured = "no measured times of " + cell.kernel.name + " on " + cell.device->name +
                      " with the pingpong schedule: " +
                      "costs are those of cooperative launches; a few measured times with it calibrate it";
  return time;
}

}  // namespace natten_sim::study
