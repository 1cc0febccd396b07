#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/compare/verdict.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// Compares predictions with measurements, point by point, and sums up the errors of each model.

/// What is compared besides counters and savings: the time of a launch by events, in ns.
inline constexpr std::string_view kLaunchTime = "launch_time_ns";

struct ComparisonRow {
  std::string suite;
  std::string device;   ///< profile that the prediction is for
  std::string point;    ///< key_of
  std::string group;    ///< group_of
  std::string counter;  ///< label, kLaunchTime or kSaving (saving.hpp)
  std::string model;
  double predicted = 0;
  std::optional<PredictedInterval> interval;  ///< that the answer states
  double measured = 0;                        ///< median
  double spread = 0;    ///< of the measurement: (largest - smallest) / median
  /// predicted / measured - 1, and infinite if something was predicted and nothing was measured; for a
  /// saving, predicted - measured.
  double deviation = 0;
  bool fitted = false;  ///< the model was calibrated on this point
  std::optional<double> tolerance;
  Verdict verdict = Verdict::kNoTolerance;
  std::optional<std::size_t> known_miss;  ///< the suite's known miss that excuses this row
  std::string cause;                      ///< cause of the known miss
};

/// Absolute relative deviations of some rows. Requires at least one.
struct ErrorSummary {
  std::size_t points = 0;
  double mape = 0;  ///< mean
  double median = 0;
  double p95 = 0;
  double worst = 0;
  std::string worst_point;
};

/// Errors of the rows of one suite, device, counter, model and group. Fitted points are summed up apart from
/// the others.
struct GroupSummary {
  std::string suite;
  std::string device;
  std::string counter;
  std::string model;
  std::string group;  ///< empty: all groups together
  std::optional<ErrorSummary> not_fitted;
  std::optional<ErrorSummary> fitted;
};

/// A recording of which nothing is compared.
struct Uncompared {
  std::string suite;
  std::string reason;
  bool timed_answers = false;  ///< no closed form does: a simulation may (Fidelity::kTimed)
};

struct Comparison {
  std::vector<ComparisonRow> rows;
  std::vector<GroupSummary>
      groups;               ///< all groups of a counter and model first, then each, in order of appearance
  std::vector<ScoreResult> scores;  ///< of the tolerances that judge their points together
  std::size_t within = 0;           ///< points within their tolerances
  std::size_t excused = 0;          ///< known misses
  double excused_worst = 0;         ///< largest absolute deviation of those
  std::size_t outside = 0;          ///< new misses
  std::size_t scored = 0;           ///< points that scores judge
  std::size_t scores_missed = 0;    ///< scores below what is stored
  std::vector<Uncompared> uncompared;
  std::vector<std::string> notes;  ///< points without measurement or prediction, and why
};

/// Compares every counter that was both measured and predicted, and what sawtooths save. Tolerances and known
/// misses come from the suite that the recording names. A known miss excuses at most as many points of a
/// recording as it says. Notes list what a recording lacks of its suite. @throws UnknownName when there is no
/// such suite.
[[nodiscard]] Comparison compare(const std::vector<Recording>& recordings, const std::vector<Suite>& suites,
                                 const std::vector<Device>& devices,
                                 Fidelity fidelity = Fidelity::kClosedForm,
                                 const std::function<void(double)>& progress = {});

/// Requires at least one row: else nothing was found out. `parameter` is what named the recordings `where`.
/// @throws InvalidParameter naming it and why nothing is compared, or fidelity if a simulation answers.
void require_compared(const Comparison& comparison, Fidelity fidelity, const std::string& parameter,
                      const std::string& where);

/// Whether nothing is outside of its tolerance and no score below what is stored.
[[nodiscard]] inline bool all_hold(const Comparison& comparison) noexcept {
  return comparison.outside == 0 && comparison.scores_missed == 0;
}

/// By factors, but savings by difference and paths and bounds as choices.
[[nodiscard]] ErrorKind error_kind_of(std::string_view quantity) noexcept;

/// Fills in the verdict of one deviation, judged as `error_kind_of` says, by the suite's tolerances and known misses. It does not count the
/// points of a known miss, nor does it make scores; `compare` does.
void judge(const Suite& suite, ComparisonRow& row);

/// Sums up rows as Comparison::groups does.
[[nodiscard]] std::vector<GroupSummary> summarise(const std::vector<ComparisonRow>& rows);

}  // namespace natten_sim::validate
