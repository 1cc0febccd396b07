#include "closings/choice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/time_report.hpp>

#include "closings/certainty.hpp"

namespace natten_sim::report {
namespace {

constexpr double kShownBound = 0.0005;  // of a bound below the choice

}  // namespace

Closing closing_of_choice(const study::SearchAnswer& answer) {
  const study::RecallChoice& choice = *answer.choice;
  Closing closing;
  closing.limit = fmt::format("on {} the launches above keep {:.1f}% of the attention in {}",
                              *answer.question.setting.device, 100 * choice.recall, duration_text(choice.ms));
  const bool dense = std::all_of(answer.candidates.begin(), answer.candidates.end(),
                                 [](const study::SearchCandidate& each) { return each.dense_path; });
  closing.change = dense ? "first run dense attention, which no windows tried here better"
                         : "first give each head its window";
  if (choice.dense_ms && !dense) {
    closing.gain = *choice.dense_ms / choice.ms;
    closing.gain_text = fmt::format("{:.2f}x over dense attention", *closing.gain);
    if (choice.end_to_end_speedup) closing.gain_text += fmt::format(", {:.2f}x end to end", *choice.end_to_end_speedup);
  }
  if (choice.least_ms)
    closing.certainty = *choice.least_ms < choice.ms * (1 - kShownBound)
                            ? fmt::format("no choice of these windows takes less than {}", duration_text(*choice.least_ms))
                            : std::string("no choice of these windows takes less");
  if (choice.most_recall)
    closing.certainty = fmt::format("no choice of these windows keeps more than {:.1f}%", 100 * *choice.most_recall);
  const auto timed = std::find_if(answer.candidates.begin(), answer.candidates.end(),
                                  [](const study::SearchCandidate& each) { return each.time || each.backward_time; });
  if (timed != answer.candidates.end())
    closing.certainty += (closing.certainty.empty() ? "" : "; ") +
                         certainty_of((timed->time ? timed->time : timed->backward_time)->evidence);
  return closing;
}

}  // namespace natten_sim::report
