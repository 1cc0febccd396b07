#pragma once

#include <string>

#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

// What the text and the members of an answer of `search` have in common.

inline bool by_time(const study::SearchQuestion& question) { return *question.objective == Objective::kTime; }

inline bool shows_end_to_end(const study::SearchQuestion& question) {
  return question.setting.attention_share && question.phase == SearchPhase::kForward;
}

inline double end_to_end_of(const study::SearchQuestion& question, const study::SearchCandidate& candidate) {
  return end_to_end_speedup(*study::share_of(question.setting), candidate.speedup);
}

inline const std::string& device_of(const study::SearchAnswer& answer) {
  return *answer.question.setting.device;
}

}  // namespace natten_sim::report
