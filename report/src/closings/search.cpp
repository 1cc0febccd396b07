#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/time_report.hpp>

#include "closings/certainty.hpp"
#include "closings/choice.hpp"

namespace natten_sim::report {
namespace {

/// The devices' best candidate: the one with the least time, else the first there is.
const study::SearchAnswer* best_answer(std::span<const study::SearchAnswer> answers) {
  const study::SearchAnswer* best = nullptr;
  for (const study::SearchAnswer& answer : answers) {
    if (answer.candidates.empty()) continue;
    const auto time = [](const study::SearchAnswer& of) {
      return of.choice ? of.choice->ms : of.candidates.front().total_ms();
    };
    if (best == nullptr || (time(answer) > 0 && time(answer) < time(*best))) best = &answer;
  }
  return best;
}

/// The first, but of a ladder or a front the one that gains most.
const study::SearchCandidate& best_candidate(const study::SearchAnswer& answer) {
  const auto& candidates = answer.candidates;
  if (answer.question.kind == study::SearchKind::kBest) return candidates.front();
  return *std::max_element(candidates.begin(), candidates.end(),
                           [](const auto& a, const auto& b) { return a.speedup < b.speedup; });
}

/// Others whose time lies within the interval of the best one's.
std::size_t not_told_apart(const study::SearchAnswer& answer) {
  const study::SearchCandidate& best = answer.candidates.front();
  double high = 0;
  for (const auto& time : {best.time, best.backward_time}) high += time ? time->high_ms : 0;
  std::size_t count = 0;
  for (std::size_t i = 1; i < answer.candidates.size(); ++i)
    count += answer.candidates[i].total_ms() <= high ? 1 : 0;
  return count;
}

/// What a candidate's speedup is over: a dense kernel's time, or tiles.
std::string dense_name(const study::SearchCandidate& candidate) {
  std::string name;
  for (const auto& time : {candidate.time, candidate.backward_time}) {
    if (!time || name == time->dense_kernel) continue;
    name += (name.empty() ? "" : " and ") + time->dense_kernel;
  }
  return name.empty() ? "dense attention, by tiles" : name;
}

}  // namespace

Closing closing_of(std::span<const study::SearchAnswer> answers) {
  Closing closing;
  const study::SearchAnswer* answer = best_answer(answers);
  if (answer == nullptr) {
    closing.limit = "no combination meets the constraints";
    closing.change = "first widen the range of sparsity or of windows";
    closing.certainty = "every combination was looked at";
    return closing;
  }
  if (answer->choice) return closing_of_choice(*answer);
  const study::SearchCandidate& best = best_candidate(*answer);
  const TilingProblem& problem = best.counted.problem;
  const TileCount& count = best.counted.count;
  closing.limit = fmt::format("{:.0f}% of the pairs that the best candidate multiplies are masked or padded",
                              100 * count.wasted_share());
  if (answers.size() > 1) closing.change = "on " + *answer->question.setting.device + " ";
  closing.change += fmt::format("first take window {}, stride {}", to_string(window_of(problem.mask)),
                                to_string(stride_of(problem.mask)));
  closing.options["window"] = to_json(window_of(problem.mask));
  closing.options["stride"] = to_json(stride_of(problem.mask));
  closing.gain = best.speedup;
  closing.gain_text = fmt::format("{:.2f}x over {}", best.speedup, dense_name(best));
  if (best.time && best.time->speedup && best.speedup <= 1) {
    closing.change = "keep dense attention, or search for more sparsity";
    closing.options = Json::object();
    closing.gain = std::nullopt;
    closing.gain_text = fmt::format("the best candidate is {:.2f}x as fast", best.speedup);
  }
  const std::optional<study::PassTime>& time = best.time ? best.time : best.backward_time;
  if (!time) {
    closing.certainty = "counts are exact, and a time could rank the candidates otherwise";
    return closing;
  }
  closing.gain_text += ", " + duration_text(best.total_ms());
  if (closing.gain && best.time && !best.backward_time && answer->question.setting.attention_share)
    closing.gain_text += fmt::format(
        ", {:.2f}x end to end", end_to_end_speedup(*study::share_of(answer->question.setting), best.speedup));
  // The pass with the weaker evidence counts.
  const bool weaker =
      best.time && best.backward_time && best.backward_time->evidence.interval > best.time->evidence.interval;
  const CostEvidence& evidence = weaker ? best.backward_time->evidence : time->evidence;
  const std::size_t near = not_told_apart(*answer);
  closing.certainty =
      (near == 0 ? std::string("no other listed candidate is within the error margin")
                 : fmt::format("{} other listed {} within the error margin", near,
                               near == 1 ? "candidate is" : "candidates are")) +
      ": " + certainty_of(evidence);
  return closing;
}

}  // namespace natten_sim::report
