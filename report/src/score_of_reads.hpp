#pragma once

#include <string>

#include <natten_sim/core/fidelity.hpp>
#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::report {

/// How far off a model of DRAM reads is on recorded launches that are most like those of an answer.
struct ScoreOfReads {
  const validate::Score* score = nullptr;
  std::string suite;
  bool predicted_first = false;  ///< today's model had not seen these launches
};

/// The launches of an answer.
struct LaunchesOfReads {
  Fidelity fidelity = Fidelity::kTimed;
  std::string kernel;  ///< name in the catalog; empty: none
  bool causal = false;
  bool neighborhood = false;  ///< a window, or several axes
};

/// FlashAttention-2's and cuDNN's own launches where the timed model answers for them, neighborhoods for
/// windows and layouts of several axes, else those of suite `fresh-clocks`. No score: lockstep over
/// neighborhoods or under a causal mask, which is compared with nothing.
[[nodiscard]] ScoreOfReads score_of_reads(const LaunchesOfReads& launches);

/// "69 launches that were predicted first: 7.2% off in the median, 23.6% for nine of ten"; empty without a
/// score.
[[nodiscard]] std::string score_text(const ScoreOfReads& score);

}  // namespace natten_sim::report
