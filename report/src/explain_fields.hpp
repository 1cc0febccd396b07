#pragma once

#include <string>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/study/explain.hpp>

#include "score_of_reads.hpp"

namespace natten_sim::report {

/// Parts of what is said of a profile: members of its JSON, and words that its text has too.
[[nodiscard]] Json kernel_fields(const study::ExplainedKernel& kernel);
/// All that is said of a profile.
struct ExplainTold {
  const study::ExplainAnswer* answer;
  Closing conclusion;
};
[[nodiscard]] Json explain_fields(const ExplainTold& told);
/// "sawtooth order", "heads first".
[[nodiscard]] std::string change_name(const study::ExplainedChange& change);
/// Recorded launches most like this one.
[[nodiscard]] ScoreOfReads score_of(const study::ExplainedKernel& kernel);

}  // namespace natten_sim::report
