#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/report/window_recall.hpp>

namespace natten_sim::report {
namespace {

using study::RecallChoice;
using study::SearchAnswer;
using study::SearchCandidate;

std::string share_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string heads_of(std::size_t layers, std::size_t heads) {
  return layers == 1 ? counted(heads, "head")
                     : fmt::format("{} of {}", counted(layers, "layer"), counted(heads, "head"));
}

std::string window_text(const SearchCandidate& candidate) {
  return candidate.dense_path ? "dense" : to_string(window_of(candidate.counted.problem.mask));
}

std::string stride_text(const SearchCandidate& candidate) {
  return candidate.dense_path ? "" : to_string(stride_of(candidate.counted.problem.mask));
}

/// 0-5, 7
std::string ranges_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last > i + 1 ? "-" : ", ") + std::to_string(numbers[last]);
    i = last;
  }
  return text;
}

/// A bound that is the choice's time but for rounding says that the choice is best.
std::string least_time_text(double least_ms, double ms) {
  constexpr double kShown = 0.0005;  // of one decimal of a per cent
  const double less = 1 - least_ms / ms;
  if (less < kShown) return "no choice of these windows takes less\n";
  return fmt::format("no choice of these windows takes less than {}, {:.1f}% less\n", duration_text(least_ms), 100 * less);
}

}  // namespace

std::string recalls_text(std::span<const NeighborhoodMask> masks, const study::MaskRecalls& recalls,
                         const std::string& table) {
  std::vector<std::vector<std::string>> rows = {{"window", "stride", "recall", "least of a head"}};
  for (std::size_t i = 0; i < masks.size(); ++i) {
    rows.push_back({to_string(window_of(masks[i])), to_string(stride_of(masks[i])),
                    share_text(recalls.mean(i)), share_text(recalls.least(i))});
  }
  return fmt::format("{}, {}: windows keep\n", table, heads_of(recalls.layers, recalls.heads)) +
         text_table(rows);
}

std::string candidate_recalls_text(const SearchAnswer& answer) {
  std::vector<NeighborhoodMask> masks;
  for (const SearchCandidate& each : answer.candidates) masks.push_back(each.counted.problem.mask);
  return recalls_text(masks, *answer.recalls, *answer.question.recall.table);
}

std::string recall_choice_text(const SearchAnswer& answer, const study::Context& context) {
  const RecallChoice& choice = *answer.choice;
  const study::Setting& setting = answer.question.setting;
  const bool grouped_heads = *setting.heads_kv != *setting.heads;
  std::vector<std::vector<std::string>> rows = {{"layer", "heads", "window", "stride", "time", "recall"}};
  if (grouped_heads) rows[0].insert(rows[0].begin() + 2, "KV heads");
  for (const study::RecallLaunch& launch : choice.launches) {
    const SearchCandidate& candidate = answer.candidates[launch.candidate];
    rows.push_back({std::to_string(launch.layer), ranges_text(launch.heads), window_text(candidate),
                    stride_text(candidate), duration_text(launch.ms), share_text(launch.recall)});
    if (grouped_heads) rows.back().insert(rows.back().begin() + 2, ranges_text(launch.kv_heads));
  }
  std::string text = fmt::format("{}, {}; {} windows and strides tried\n\n", *answer.question.recall.table,
                                 heads_of(choice.layers, choice.heads), grouped(answer.evaluated)) +
                     text_table(rows) + "\n";
  for (const study::RecallLaunch& launch : choice.launches)
    if (launch.layer == 0) text += launch_python(answer, launch, context) + "\n";
  if (choice.layers > 1)
    text += fmt::format("These are the calls of layer 0; --emit natten prints those of all {} layers.\n", choice.layers);
  text += fmt::format("\nall layers: {} of the attention in {}", share_text(choice.recall),
                      duration_text(choice.ms));
  if (choice.dense_ms)
    text += fmt::format("; dense {}, {:.2f}x", duration_text(*choice.dense_ms), *choice.dense_ms / choice.ms);
  text += "\n";
  if (choice.least_ms) text += least_time_text(*choice.least_ms, choice.ms);
  if (choice.most_recall)
    text += fmt::format("no choice of these windows keeps more than {}\n", share_text(*choice.most_recall));
  return text;
}

}  // namespace natten_sim::report
