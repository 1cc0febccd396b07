#include <fmt/format.h>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/kernel_report.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/report/window_recall.hpp>

#include "search_values.hpp"

namespace natten_sim::report {
namespace {

using study::SearchAnswer;
using study::SearchCandidate;
using study::SearchQuestion;

std::string times(double factor) { return fmt::format("{:.2f}x", factor); }

using Cells = std::vector<std::string>;

/// The kernel whose time a candidate's is.
std::string kernel_name(const SearchCandidate& candidate) {
  return candidate.tiles.kernel.empty() ? candidate.tiles.backend : candidate.tiles.kernel;
}

const char* fast_path_word(const SearchCandidate& candidate) {
  if (candidate.dense_path) return "dense";
  return candidate.fast_path ? "yes" : "no";
}

Cells time_header_of(const SearchQuestion& question) {
  Cells header = {"window", "stride", "Q tile", "KV tile"};
  if (question.phase == SearchPhase::kBoth) header.insert(header.end(), {"backward Q", "backward KV"});
  if (question.kernels.size() > 1) header.emplace_back("kernel");
  header.insert(header.end(), {"sparsity", "time", "within", "copies"});
  if (question.phase == SearchPhase::kBoth) header.emplace_back("of it backward");
  header.insert(header.end(), {"speedup", "mean tiles", "fast path"});
  if (shows_end_to_end(question)) header.emplace_back("e2e");
  return header;
}

Cells time_row_of(const SearchQuestion& question, const SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  Cells row = {to_string(window_of(problem.mask)), to_string(stride_of(problem.mask)),
               to_string(problem.tiles.q_tile), to_string(problem.tiles.kv_tile)};
  if (question.phase == SearchPhase::kBoth) {
    const TilePair& tiles = candidate.backward->problem.tiles;
    row.insert(row.end(), {to_string(tiles.q_tile), to_string(tiles.kv_tile)});
  }
  if (question.kernels.size() > 1) row.push_back(kernel_name(candidate));
  double low = 0, high = 0, copies = 0;
  bool copies_known = true;
  for (const std::optional<study::PassTime>* time : {&candidate.time, &candidate.backward_time}) {
    if (!*time) continue;
    low += (*time)->low_ms;
    high += (*time)->high_ms;
    copies_known = copies_known && (*time)->permutation_ms;
    copies += (*time)->permutation_ms.value_or(0) + (*time)->repetition_ms.value_or(0);
  }
  row.push_back(fmt::format("{:.2f}%", 100.0 * candidate.counted.count.sparsity()));
  row.insert(row.end(), {duration_text(candidate.total_ms()),
                         fmt::format("{} .. {}", duration_text(low), duration_text(high)),
                         !copies_known ? "not known" : copies > 0 ? duration_text(copies) : "none"});
  if (question.phase == SearchPhase::kBoth) row.push_back(duration_text(candidate.backward_time->total_ms));
  row.insert(row.end(), {times(candidate.speedup), times(candidate.counted.count.speedup_mean()),
                         fast_path_word(candidate)});
  if (shows_end_to_end(question)) row.push_back(times(end_to_end_of(question, candidate)));
  return row;
}

void add_speedups(const TileCount& count, Cells& row) {
  for (const double speedup :
       {count.speedup_work(), count.speedup_worst(), count.speedup_mean(), count.speedup_flop()})
    row.push_back(times(speedup));
}

Cells header_of(const SearchQuestion& question) {
  if (by_time(question)) return time_header_of(question);
  const std::string objective = to_string(*question.objective);
  Cells header = {"window", "stride"};
  if (question.phase == SearchPhase::kBoth) {
    header.insert(header.end(), {"Q tile", "KV tile", "backward Q", "backward KV", "sparsity",
                                 "forward " + objective, "backward " + objective, "both"});
  } else {
    header.insert(header.end(), {"Q tile", "KV tile", "sparsity", "work", "worst", "mean", "flop"});
  }
  header.emplace_back("fast path");
  if (shows_end_to_end(question)) header.emplace_back("e2e worst");
  return header;
}

Cells row_of(const SearchQuestion& question, const SearchCandidate& candidate) {
  if (by_time(question)) return time_row_of(question, candidate);
  const TilingProblem& problem = candidate.counted.problem;
  const TileCount& count = candidate.counted.count;
  Cells row = {to_string(window_of(problem.mask)), to_string(stride_of(problem.mask)),
               to_string(problem.tiles.q_tile), to_string(problem.tiles.kv_tile)};
  const std::string sparsity = fmt::format("{:.2f}%", 100.0 * count.sparsity());
  if (question.phase == SearchPhase::kBoth) {
    const TilePair& tiles = candidate.backward->problem.tiles;
    const Objective objective = row_of(*question.objective).ranks_by;
    row.insert(row.end(),
               {to_string(tiles.q_tile), to_string(tiles.kv_tile), sparsity,
                times(speedup_of(candidate.ranked, objective)),
                times(speedup_of(*candidate.backward_ranked, objective)), times(candidate.speedup)});
  } else {
    row.push_back(sparsity);
    add_speedups(candidate.ranked, row);
  }
  row.emplace_back(fast_path_word(candidate));
  if (candidate.counted.end_to_end)
    row.push_back(
        times(end_to_end_speedup(candidate.counted.end_to_end->share, candidate.ranked.speedup_worst())));
  return row;
}

std::string kind_line(const SearchAnswer& answer) {
  const SearchQuestion& question = answer.question;
  const std::string passes = question.phase == SearchPhase::kForward    ? ""
                             : question.phase == SearchPhase::kBackward ? ", backward pass"
                                                                        : ", forward and backward pass";
  const std::string objective = to_string(*question.objective);
  switch (question.kind) {
    case study::SearchKind::kLadder:
      return "stride ladder: best worst-case speedup for each product of strides" + passes;
    case study::SearchKind::kPareto:
      if (by_time(question))
        return fmt::format("front of time against attended pairs on {}: {}{}", *question.setting.device,
                           counted(answer.candidates.size(), "point"), passes);
      return fmt::format("Pareto front over sparsity, stride product and {} speedup: {}{}", objective,
                         counted(answer.candidates.size(), "point"), passes);
    case study::SearchKind::kBest:
      break;
  }
  const bool one_size = answer.tile_sizes.size() == 1;
  const auto number = one_size ? static_cast<std::int64_t>(answer.candidates.size()) : *question.top;
  const char* what = "";
  if (*question.distinct == Distinct::kWindow) what = number == 1 ? " window" : " windows";
  if (*question.distinct == Distinct::kStride) what = number == 1 ? " window and stride" : " windows and strides";
  if (by_time(question))
    return fmt::format("best {}{} by time on {}{}", number, what, *question.setting.device, passes);
  return fmt::format("best {}{} by {} speedup{}{}", number, what, objective, passes,
                     one_size ? "" : ", for each tile size");
}

/// What the reader should know of how the space was cut.
std::string space_lines(const SearchAnswer& answer) {
  std::string text;
  for (const study::SearchExclusion& excluded : answer.excluded) {
    text += fmt::format("left out: {} combination{} that NATTEN refuses: {} (--any keeps them)\n",
                        grouped(excluded.combinations), excluded.combinations == 1 ? "" : "s",
                        excluded.refusal.rule);
  }
  for (const study::LeftOutKernel& kernel : answer.left_out) text += "left out: " + kernel.reason + "\n";
  if (answer.imbalance_defaulted)
    text += fmt::format("length/window differs by at most {:g} between axes (--max-imbalance)\n",
                        *answer.question.constraints.max_imbalance);
  if (answer.sketched) return text + "too many windows and strides: only those that tiles divide were searched\n";
  if (!answer.complete) text += "more than 65,536 combinations are alike: fewer answers than asked for\n";
  return text;
}

std::string heading_of(const study::HeldTiles& held) {
  std::string text;
  if (held.forward) text += fmt::format("Q tiles of {} tokens", *held.forward);
  if (held.backward)
    text += fmt::format("{}KV tiles of {} tokens{}", text.empty() ? "" : ", ", *held.backward,
                        text.empty() ? "" : " in the backward pass");
  return text + ":\n";
}

std::string size_note() {
  return "Tiles of different size are not compared: a smaller one visits less, and takes longer a token.\n";
}

/// One table, or one for each tile size.
std::string tables_of(const SearchAnswer& answer) {
  if (answer.tile_sizes.size() == 1) {
    std::vector<Cells> rows = {header_of(answer.question)};
    for (const SearchCandidate& each : answer.candidates) rows.push_back(row_of(answer.question, each));
    return text_table(rows);
  }
  std::string text = size_note();
  for (std::size_t size = 0; size < answer.tile_sizes.size(); ++size) {
    std::vector<Cells> rows = {header_of(answer.question)};
    for (const SearchCandidate& each : answer.candidates)
      if (each.tile_size == size) rows.push_back(row_of(answer.question, each));
    if (rows.size() > 1) text += "\n" + heading_of(answer.tile_sizes[size]) + text_table(rows);
  }
  return text;
}

std::string text_of(const SearchAnswer& answer) {
  if (answer.candidates.empty()) return "";
  const Extents& input = answer.question.setting.input;
  std::string text;
  if (answer.preset) text += preset_line(*answer.preset, input);
  text += fmt::format("layout {}   {}   {}\n", to_string(input), counted(answer.space_size, "combination"),
                      kind_line(answer));
  return text + space_lines(answer) + "\n" + tables_of(answer);
}

/// All devices in one table: each has its own backend, tiles and answers.
std::string text_side_by_side(std::span<const SearchAnswer> answers) {
  const SearchAnswer& first = answers.front();
  const Extents& input = first.question.setting.input;
  std::string text;
  if (first.preset) text += preset_line(*first.preset, input);
  text += fmt::format("layout {}   {} devices, speedups over dense attention on the same one\n",
                      to_string(input), answers.size());
  std::vector<Cells> rows;
  bool several_sizes = false;
  for (const SearchAnswer& answer : answers) {
    text += fmt::format("\n{}: {}   {}\n", device_of(answer), counted(answer.space_size, "combination"),
                        kind_line(answer)) +
            space_lines(answer);
    several_sizes = several_sizes || answer.tile_sizes.size() > 1;
    for (const SearchCandidate& candidate : answer.candidates) {
      rows.push_back(row_of(answer.question, candidate));
      rows.back().insert(rows.back().begin(), {device_of(answer), candidate.tiles.backend});
    }
  }
  if (rows.empty()) return "";
  Cells header = header_of(first.question);
  header.insert(header.begin(), {"device", "backend"});
  rows.insert(rows.begin(), header);
  return text + "\n" + (several_sizes ? size_note() + "\n" : "") + text_table(rows);
}

}  // namespace

std::string search_text(std::span<const SearchAnswer> answers, const study::Context& context) {
  const bool alone = answers.size() == 1;
  std::string choices, recalls;
  for (const SearchAnswer& answer : answers) {
    const std::string device = alone ? "" : device_of(answer) + ": ";
    if (answer.choice) choices += (choices.empty() ? "" : "\n") + device + recall_choice_text(answer, context);
    if (answer.recalls) recalls += "\n" + device + candidate_recalls_text(answer);
  }
  if (!choices.empty()) return choices;
  return (alone ? text_of(answers.front()) : text_side_by_side(answers)) + recalls;
}

}  // namespace natten_sim::report
