#include "commands/rows/kernel_schedule_rows.hpp"

#include <limits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim::cli {
namespace {

using Parts = study::ScheduleParts;

std::vector<std::string> backward_kernel_names() { return builtin_catalog().backward_kernel_names(); }

}  // namespace

Options<ScheduleFlags> kernel_input_rows() {
  Options<ScheduleFlags> rows = measured_rows();
  using Question = study::ScheduleQuestion;
  const auto question = schedule_part(&Parts::question);
  rows.add("-i,--seqlen-q", schedule_part(&Parts::seqlen_q), {.value = "N"});
  rows.add("--seqlen-k", schedule_part(&Parts::seqlen_k), {.value = "N"});
  rows.add("-n,--heads", path(question, &Question::heads), {.value = "N", .range = {1, kMaxHeads}});
  rows.add("--heads-kv", path(question, &Question::heads_kv), {.value = "N", .range = {1, kMaxHeads}});
  rows.add("-b,--batch-size", path(question, &Question::batch), {.value = "N", .range = {1, kMaxBatch}});
  rows.add("--device", schedule_part(&Parts::device), {.value = "NAME"});
  rows.include(mask_rows());
  return rows;
}

Options<ScheduleFlags> export_rows() {
  Options<ScheduleFlags> rows;
  rows.add("--emit-header", &ScheduleFlags::emit_header,
           {.value = "FILE", .help = "Write the schedule as arrays of a CUDA or C++ header"});
  rows.add("--emit-binary", &ScheduleFlags::emit_binary,
           {.value = "FILE", .help = "Write the same arrays as 32-bit integers"});
  return rows;
}

Options<ScheduleFlags> walk_rows() {
  Options<ScheduleFlags> rows;
  rows.add("--walk", path(schedule_part(&Parts::question), &study::ScheduleQuestion::walk),
           {.value = "ORDER",
            .help = "partial-first: chains take partly masked tiles before full ones, as block-sparse "
                    "kernels do; spread: chains of a shift begin spread over their tiles; in-order [default]"});
  rows.add("--heads-in-flight", path(schedule_part(&Parts::question), &study::ScheduleQuestion::heads_in_flight),
           {.value = "N",
            .help = "Of a search: heads at work at a time [with --device and -i as many as its L2 holds]",
            .range = {1, kMaxHeads}});
  return rows;
}

Options<ScheduleFlags> chain_rows() {
  const auto question = schedule_part(&Parts::question);
  Options<ScheduleFlags> rows;
  rows.add(
      "--gqa-chains", path(question, &study::ScheduleQuestion::gqa_chains),
      {.value = "HOW",
       .help = "With --heads-kv: a chain is one (query head, KV tile), or kv-heads: one (KV head, KV tile) "
               "with all its query heads; query-heads [default]"});
  rows.add("--ctas-per-chain", path(question, &study::ScheduleQuestion::ctas_per_chain),
           {.value = "N",
            .help = "2: pairs of CTAs share two KV tiles and halve the reductions into dQ [default]",
            .range = {1, 2}});
  return rows;
}

Options<ScheduleFlags> turn_rows() {
  using Costs = study::ScheduleCosts;
  const auto costs = path(schedule_part(&Parts::question), &study::ScheduleQuestion::costs);
  Options<ScheduleFlags> rows;
  rows.add("--release", path(costs, &Costs::release),
           {.value = "WHEN",
            .help = "When a chain passes on the turn of a dQ tile: after-next: once it has its next one, as "
                    "FlashAttention-4 on sm_100; at-once [default]"});
  rows.add("--dkv-turns", path(costs, &Costs::dkv_turns),
           {.value = "HOW", .help = "With --heads-kv: apart: dV and dK in a turn each; together [default]"});
  rows.add("--early-exit", path(costs, &Costs::early_exit),
           {.value = "C",
            .help = "Cost of a chain without tasks: a CTA that exits at once [default]",
            .interval = {0, study::kMaxScheduleCost},
            .accepted = kCostRange});
  return rows;
}

Options<ScheduleFlags> memory_rows() {
  Options<ScheduleFlags> rows;
  rows.add(
      "-d,--dim", path(schedule_part(&Parts::question), &study::ScheduleQuestion::head_dim),
      {.value = "N",
       .help = "Head dim, of --kernel, of the memory that a schedule takes and of what the L2 of --device "
               "holds [default]",
       .range = {1, 65536},
       .echo = Echo::kAlways});
  rows.add("--dtype", path(schedule_part(&Parts::question), &study::ScheduleQuestion::dtype),
           {.value = "TYPE", .help = "Element type, likewise [default]"});
  return rows;
}

Options<ScheduleFlags> measured_rows() {
  Options<ScheduleFlags> rows;
  rows.add("--kernel", &ScheduleFlags::kernel,
           {.value = "NAME",
            .help = "Times of a known kernel with its own tiles and orders, deterministic and not (" +
                    joined(backward_kernel_names()) + ", or NAME@RELEASE); needs --device, -i",
            .echo = Echo::kWhenSet,
            .needs = {{.option = "device", .accepted = "--device NAME too", .with_dashes = true}},
            .rules_out = {{"q-tiles",     "kv-tiles",       "q-tile",
                           "kv-tile",     "workers",        "ctas-per-sm",
                           "algorithm",   "dispatch",       "launch-order",
                           "effort",      "seed",           "heads-in-flight",
                           "walk",        "compute",        "compute-partial",
                           "release",     "dkv-turns",      "early-exit",
                           "gqa-chains",  "ctas-per-chain", "time-limit",
                           "reduce",      "reduce-kv",      "prologue",
                           "epilogue",    "handoff",        "tax",
                           "overlap",     "table",
                           "checkpoint",  "critical-path",  "ascii",
                           "emit-header", "emit-binary",    "recorded-run"},
                          "sizes, mask, device and costs: the kernel says the rest"},
            .suggestions = backward_kernel_names});
  rows.include(memory_rows());
  rows.add("--costs", path(schedule_part(&Parts::question), &study::ScheduleQuestion::named_costs),
           {.value = "NAME",
            .help = "Named costs in microseconds, or a FILE of them [with --kernel its own on the device]",
            .echo = Echo::kWhenSet,
            .excludes = {"compute", "compute-partial", "reduce", "reduce-kv", "prologue", "epilogue",
                         "handoff", "tax", "overlap", "table"}});
  return rows;
}

study::KernelScheduleQuestion kernel_schedule_question(const ScheduleFlags& flags) {
  study::KernelScheduleQuestion question;
  question.kernel = flags.kernel.value();
  if (!flags.parts.device) throw InvalidParameter("--device", "missing", "the device that runs the kernel");
  question.device = *flags.parts.device;
  if (!flags.parts.seqlen_q) throw InvalidParameter("--seqlen-q", "missing", "the tokens of the queries");
  question.q_tokens = *flags.parts.seqlen_q;
  question.kv_tokens = flags.parts.seqlen_k;
  question.head_dim = flags.parts.question.head_dim;
  question.heads = flags.parts.question.heads;
  question.heads_kv = flags.parts.question.heads_kv;
  question.batch = flags.parts.question.batch;
  question.dtype = flags.parts.question.dtype;
  question.costs = flags.parts.question.named_costs;
  const auto* mask = std::get_if<ScheduleMask>(&flags.mask.value);
  if (mask == nullptr)
    throw InvalidParameter("--mask", "FILE", "full, causal or a window: the masks that these kernels take");
  question.mask = *mask;
  return question;
}

Json kernel_schedule_input(const ScheduleFlags& flags, const study::KernelScheduleAnswer& answer) {
  ScheduleFlags resolved = flags;
  resolved.parts.seqlen_k = answer.kv_tokens;
  resolved.parts.question.heads_kv = answer.heads_kv;
  if (answer.costs) resolved.parts.question.named_costs = answer.costs->name;
  return kernel_input_rows().echo(resolved);
}

}  // namespace natten_sim::cli
