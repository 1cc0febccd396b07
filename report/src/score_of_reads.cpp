#include "score_of_reads.hpp"

#include <fmt/format.h>

#include <natten_sim/validate/compare/suite.hpp>

namespace natten_sim::report {
namespace {

const validate::Score* stored(const std::string& suite, const std::string& model, const std::string& group) {
  for (const validate::Tolerance& each : validate::find_suite(validate::builtin_suites(), suite).tolerances) {
    if (each.counter == "dram_read_bytes" && each.model == model && each.group == group && each.score)
      return &*each.score;
  }
  return nullptr;
}

}  // namespace

ScoreOfReads score_of_reads(const LaunchesOfReads& launches) {
  const bool timed = launches.fidelity == Fidelity::kTimed;
  const std::string mask = launches.causal ? "causal" : "full";
  if (launches.neighborhood) return {timed ? stored("gna", "timed", "") : nullptr, "gna", false};
  if (!timed)
    return {launches.causal ? nullptr : stored("fresh-clocks", "lockstep", ""), "fresh-clocks", true};
  if (launches.kernel == "fa2" || launches.kernel == "cudnn")
    return {stored("sdpa-reads", "timed", launches.kernel + " " + mask), "sdpa-reads", false};
  return {stored("fresh-clocks", "timed", mask), "fresh-clocks", true};
}

std::string score_text(const ScoreOfReads& score) {
  if (score.score == nullptr) return "";
  const bool no_skill = score.score->skill && !(*score.score->skill > 0);
  return fmt::format(
      "{} {}: {:.1f}% off in the median, {:.1f}% for nine of ten{}", score.score->points,
      score.predicted_first ? "launches that were predicted first" : "recorded launches that the model knows",
      100 * score.score->median, 100 * score.score->p90,
      no_skill ? " (no skill: the launch measured before is as good a guess)" : "");
}

}  // namespace natten_sim::report
