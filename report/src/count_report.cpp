#include <fmt/format.h>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/kernel_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

#include "count_members.hpp"

namespace natten_sim::report {
namespace {

std::string percent(Int128 part, Int128 whole) {
  return fmt::format("{:.2f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string problem_line(const TilingProblem& problem) {
  const NeighborhoodMask& mask = problem.mask;
  const auto truths = [](const PerAxis<bool>& axes) {
    std::string flags;
    for (const bool axis : axes) flags += axis ? " true" : " false";
    return flags;
  };
  const std::string causal = truths(causal_of(mask));
  std::string text = fmt::format("layout {}   window {}   stride {}", to_string(input_of(mask)),
                                 to_string(window_of(mask)), to_string(stride_of(mask)));
  if (dilation_of(mask) != Extents(mask.rank(), 1)) text += "   dilation " + to_string(dilation_of(mask));
  if (causal.find("true") != std::string::npos) text += "   causal" + causal;
  if (has_cycle(mask)) text += "   cyclic" + truths(cyclic_of(mask));
  return text + "\n";
}

std::string tiles_line(const TilingProblem& problem) {
  return fmt::format("Q tile {}   KV tile {}   {} {} tiling{}\n", to_string(problem.tiles.q_tile),
                     to_string(problem.tiles.kv_tile), to_string(problem.kv_tiling),
                     problem.walk == Walk::kForward ? "KV" : "Q",
                     problem.tiling == Tiling::kSingleDimensional ? ", single-dimensional" : "");
}

std::vector<std::vector<std::string>> count_rows(const TileCount& count, const char* max_label) {
  return {
      {"visited tiles", grouped(count.visited_tiles),
       percent(count.visited_tiles, count.dense_tiles) + " of dense"},
      {"  full", grouped(count.full_tiles), percent(count.full_tiles, count.visited_tiles) + " of visited"},
      {"  partial", grouped(count.partial_tiles()),
       percent(count.partial_tiles(), count.visited_tiles) + " of visited"},
      {max_label, grouped(count.max_tiles_per_walked_tile),
       fmt::format("mean {:.2f}",
                   static_cast<double>(count.visited_tiles) / static_cast<double>(count.walked_tiles()))},
      {"dense tiles", grouped(count.dense_tiles), ""},
  };
}

/// One row of the table of speedups.
struct SpeedupRow {
  const char* label;
  double operation = 1;
  std::optional<double> with_copies, end_to_end;
};

std::string share_text(const AttentionShare& share) {
  return fmt::format("{:.1f}% of the time is attention, {}/{} steps stay dense\n", 100.0 * share.share,
                     share.dense_steps, share.steps);
}

/// flop, mean, worst and work: by what NATTEN's kernel does, where there is one, and else by the mask.
std::vector<SpeedupRow> speedup_rows(const study::CountAnswer& answer) {
  const TileCount& count = answer.forward.count;
  SpeedupRow flop{"flop   what the mask saves", count.speedup_flop()};
  SpeedupRow mean{"mean   by tiles visited", count.speedup_mean()};
  SpeedupRow worst{"worst  by the busiest Q tile", count.speedup_worst()};
  SpeedupRow work{"work   by multiplied pairs, padding counted", count.speedup_work()};
  if (const std::optional<study::EndToEndSpeedup>& whole = answer.forward.end_to_end)
    flop.end_to_end = whole->flop, mean.end_to_end = whole->mean, worst.end_to_end = whole->worst;
  if (const std::optional<study::KernelPass>& kernel = answer.kernel.forward) {
    mean.operation = kernel->speedup.mean, worst.operation = kernel->speedup.worst;
    work.operation = kernel->speedup.work;
    if (const auto& copies = kernel->with_permutation; copies && kernel->permutation->bytes > 0)
      mean.with_copies = copies->mean, worst.with_copies = copies->worst, work.with_copies = copies->work;
  }
  if (const std::optional<study::KernelEndToEnd>& whole = answer.kernel.end_to_end)
    mean.end_to_end = whole->mean, worst.end_to_end = whole->worst;
  return {flop, mean, worst, work};
}

/// Ratios of tiles, within the whole model too unless a ratio of times tells that.
std::string speedup_text(const study::CountAnswer& answer) {
  const std::vector<SpeedupRow> speedups = speedup_rows(answer);
  const bool copies = speedups[1].with_copies.has_value();
  const bool whole = answer.forward.end_to_end && !answer.end_to_end_by_time;
  std::vector<std::vector<std::string>> table = {{"speedup over dense attention, by tiles", "operation"}};
  if (copies) table[0].push_back("with copies");
  if (whole) table[0].push_back("end to end");
  const auto cell = [](std::optional<double> speedup) {
    return speedup ? fmt::format("{:.2f}x", *speedup) : std::string();
  };
  for (const SpeedupRow& row : speedups) {
    table.push_back({row.label, cell(row.operation)});
    if (copies) table.back().push_back(cell(row.with_copies));
    if (whole) table.back().push_back(cell(row.end_to_end));
  }
  const std::string text = text_table(table);
  return whole ? text + "end to end: " + share_text(answer.forward.end_to_end->share) : text;
}

/// The time of the forward pass, and the whole model's speedup by it.
std::string forward_time_text(const study::CountAnswer& answer) {
  const double copies_ms = answer.cycle_copies ? answer.cycle_copies->blocks_ms : 0;
  const std::string text = !answer.cycle_copies ? time_text(answer.time)
                           : copies_ms > 0 ? time_text(answer.time, ", without copies of " + duration_text(copies_ms))
                                           : time_text(answer.time, "");
  if (!answer.end_to_end_by_time) return text;
  return text + fmt::format("  end to end {:.2f}x by time: ", *answer.end_to_end_by_time) +
         share_text(answer.forward.end_to_end->share);
}

/// `, but would with KV tile 8x8 instead of 4x16`
std::string fast_path_change_text(const study::CountAnswer& answer) {
  if (!answer.fast_path_change) return "";
  const study::FastPathChange& change = *answer.fast_path_change;
  const TilingProblem& problem = answer.forward.problem;
  const auto text = [](const char* what, const Extents& to, const Extents& from) {
    return fmt::format(", but would with {} {} instead of {}", what, to_string(to), to_string(from));
  };
  if (!change.kv_tile.empty() && !change.q_tile.empty()) {
    const auto pair = [](const Extents& q_tile, const Extents& kv_tile) {
      return to_string(q_tile) + "/" + to_string(kv_tile);
    };
    return fmt::format(", but would with tiles Q/KV {} instead of {}", pair(change.q_tile, change.kv_tile),
                       pair(problem.tiles.q_tile, problem.tiles.kv_tile));
  }
  if (!change.kv_tile.empty()) return text("KV tile", change.kv_tile, problem.tiles.kv_tile);
  if (!change.q_tile.empty()) return text("Q tile", change.q_tile, problem.tiles.q_tile);
  if (!change.stride.empty()) return text("stride", change.stride, stride_of(problem.mask));
  return text("window", change.window, window_of(problem.mask));
}

/// `; NATTEN skips fine-grained masking: no`, unless a kernel of others was asked for.
std::string fast_path_text(const study::CountAnswer& answer) {
  const std::optional<KernelChoice>& kernel = answer.question.kernel;
  if (kernel && !study::natten_runs(*kernel)) return "";
  const std::string skips = answer.forward.natten_fast_path ? "yes" : "no";
  return "; NATTEN skips fine-grained masking: " + skips + fast_path_change_text(answer);
}

std::string backward_text(const study::CountAnswer& answer) {
  const study::BackwardCount& backward = *answer.backward;
  const TileCount& count = backward.count;
  std::vector<std::vector<std::string>> rows = count_rows(count, "largest for a KV tile");
  rows.push_back({"backward TFLOPs", fmt::format("{:.4g}", 1e-12 * backward.approximate_mma_flops),
                  fmt::format("{:.2f}% wasted on masked or padded pairs", 100.0 * count.wasted_share())});
  const std::optional<study::KernelPass>& kernel = answer.kernel.backward;
  rows.push_back({"speedup mean / worst",
                  fmt::format("{:.2f}x", kernel ? kernel->speedup.mean : count.speedup_mean()),
                  fmt::format("{:.2f}x", kernel ? kernel->speedup.worst : count.speedup_worst())});
  std::string text = "\nbackward: " + tiles_line(backward.problem) + text_table(rows);
  const std::string does = kernel_text(answer.kernel, Walk::kBackward, count);
  if (!does.empty()) text += "\n" + does;
  return text + time_text(backward.time);
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<study::CountAnswer>) {
  using A = study::CountAnswer;
  m.include(&A::forward);
  m.optional("fast_path_with", &A::fast_path_change, "One change with which NATTEN would mask nothing",
             [](auto& change) {
               using C = study::FastPathChange;
               change.optional("kv_tile", unless_empty(&C::kv_tile));
               change.optional("q_tile", unless_empty(&C::q_tile));
               change.optional("stride", unless_empty(&C::stride));
               change.optional("window", unless_empty(&C::window));
             });
  m.include(&A::kernel);
  m.include(&A::time);
  m.optional("e2e_speedup_time", &A::end_to_end_by_time, "Speedup of the whole model, by the ratio of times");
  m.optional(
      "padded", [](const A& answer) { return padded_in(answer); }, kPaddedMeaning);
  m.optional("blocks_ms", path(&A::cycle_copies, &study::CycleCopies::blocks_ms), kBlocksMeaning);
  m.optional(
      "backward", [](const A& answer) { return answer.backward ? &answer : nullptr; },
      "The backward pass: Q tiles walked per KV tile",
      [](auto& backward) {
        backward.include([](const A& answer) -> const study::BackwardCount& { return *answer.backward; });
        backward.put(
            "kernel", [](const A& answer) { return done_in(answer.kernel, Walk::kBackward); },
            kKernelMeaning);
        backward.include([](const A& answer) -> const auto& { return answer.backward->time; });
      });
}

Json count_result(const study::CountAnswer& answer) { return json_of(answer); }

Json count_schema() { return schema_of<study::CountAnswer>(); }

void write_count_result(const study::CountAnswer& answer, JsonMembers& members) {
  write_members(answer, members);
}

Rows count_rows(const Json& input, const study::CountAnswer& answer) {
  Json row = flattened(input);
  row.update(flattened(count_result(answer)));
  return {row, {row}, {"device", "input", "window", "stride", "q_tile", "kv_tile", "visited_tiles", "full_tiles", "partial_tiles", "sparsity", "speedup_mean", "speedup_work", "time_ms_total"}};
}

std::string preset_line(const Preset& preset, const Extents& input) {
  std::string text = preset.name;
  if (!preset.description.empty()) text += ": " + preset.description;
  return text + (input == preset.layout ? "\n" : " (with another layout)\n");
}

std::string count_text(const study::CountAnswer& answer) {
  const study::CountedTiles& forward = answer.forward;
  const TilingProblem& problem = forward.problem;
  const TileCount& count = forward.count;
  std::string text;
  if (answer.preset) text += preset_line(*answer.preset, input_of(problem.mask));
  text += problem_line(problem) + tiles_line(problem) + "\n";

  std::vector<std::vector<std::string>> rows = count_rows(count, "largest for a Q tile");
  rows.insert(rows.begin(), {"Q tiles x KV tiles", grouped(count.q_tiles), "x " + grouped(count.kv_tiles)});
  rows.push_back({"attended pairs", grouped(count.attended_pairs),
                  fmt::format("sparsity {:.2f}%", 100.0 * count.sparsity())});
  rows.push_back({"forward TFLOPs", fmt::format("{:.4g}", 1e-12 * forward.approximate_mma_flops),
                  fmt::format("{:.2f}% wasted on masked or padded pairs", 100.0 * count.wasted_share())});
  if (forward.extra_kv) {
    rows.push_back({fmt::format("{} extra KV tokens", grouped(forward.extra_kv->tokens)),
                    grouped(forward.extra_kv->visited_tiles), "dense tiles more, not counted above"});
  }
  text += text_table(rows) + "\n";

  text += speedup_text(answer) + "\n";
  text += fmt::format("fully block-sparse: {}{}\n", count.fully_block_sparse() ? "yes" : "no",
                      fast_path_text(answer));
  const std::string does = kernel_text(answer.kernel, Walk::kForward, count);
  if (!does.empty()) text += "\n" + does;
  text += forward_time_text(answer);
  if (answer.padded) text += padded_text(answer);
  if (answer.backward) text += backward_text(answer);
  return text;
}

}  // namespace natten_sim::report
