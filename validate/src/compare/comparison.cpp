#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/validate/compare/bounds.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/saving.hpp>

namespace natten_sim::validate {
namespace {

std::optional<ErrorSummary> errors_of(const std::vector<const ComparisonRow*>& rows, bool fitted) {
  std::vector<double> errors;
  ErrorSummary summary;
  for (const ComparisonRow* row : rows) {
    if (row->fitted != fitted) continue;
    const double error = std::abs(row->deviation);
    if (errors.empty() || error > summary.worst) {
      summary.worst = error;
      summary.worst_point = row->point;
    }
    summary.mape += error;
    errors.push_back(error);
  }
  if (errors.empty()) return std::nullopt;
  const Spread spread = spread_of(errors);
  summary.points = errors.size();
  summary.mape /= static_cast<double>(errors.size());
  summary.median = spread.median;
  summary.p95 = spread.p95;
  return summary;
}

const Device* device_of(const std::vector<Device>& devices, const std::string& profile) {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.name == profile; });
  return found == devices.end() ? nullptr : &*found;
}

/// Why nothing is predicted for a GPU without a profile.
std::string missing_profile(const RecordedDevice& recorded) {
  return "no device profile '" + recorded.profile + "' for '" + recorded.name + "', so nothing is predicted";
}

/// Says so if the GPU is a slice or a smaller sibling of what the profile describes; else empty.
std::string other_size(const RecordedDevice& recorded, const Device& device) {
  if (!device.sms || recorded.sms == 0 || device.sms->value == recorded.sms) return "";
  return "device profile '" + device.name + "' has " + std::to_string(device.sms->value) + " SMs, '" +
         recorded.name + "' has " + std::to_string(recorded.sms);
}

/// predicted / measured - 1. Nothing predicted and nothing seen agree.
double deviation_of(double predicted, double measured) {
  if (measured > 0) return predicted / measured - 1;
  return predicted == 0 ? 0 : std::numeric_limits<double>::infinity();
}

/// A counter's values, or those of the time by events; null without.
std::optional<Spread> measured_of(const RecordedRow& recorded, const std::string& quantity) {
  if (quantity == kLaunchTime) {
    if (!recorded.timing) return std::nullopt;
    constexpr double kNs = 1e6;  // a millisecond
    const Spread& ms = recorded.timing->milliseconds;
    return Spread{ms.median * kNs, ms.p95 * kNs, ms.smallest * kNs, ms.largest * kNs};
  }
  const auto counter = recorded.counters.find(quantity);
  if (counter == recorded.counters.end()) return std::nullopt;
  return counter->second.spread;
}

/// What a row shows, and for paths and bounds what the whole recording says of it.
std::optional<Spread> shown_by(const RecordedRow& recorded, const std::string& quantity,
                               const BusiestRuns& busiest) {
  if (quantity != kExecutedPath && quantity != kBound) return measured_of(recorded, quantity);
  const std::optional<double> found =
      quantity == kBound ? counted_bound(recorded, busiest) : executed_path(recorded);
  if (!found) return std::nullopt;
  return Spread{*found, *found, *found, *found};
}

void compare_row(const Suite& suite, const RecordedRow& recorded, const Device& device, Fidelity fidelity,
                 const BusiestRuns& busiest, Comparison& comparison) {
  const std::string key = key_of(recorded.point);
  if (recorded.status != kMeasured)
    comparison.notes.push_back(suite.name + ": " + key + ": " + recorded.status);
  for (const Prediction& prediction : predict(recorded.point, device, fidelity)) {
    const std::optional<Spread> measured = shown_by(recorded, prediction.counter, busiest);
    if (!measured) continue;
    const Spread& spread = *measured;
    ComparisonRow row;
    row.suite = suite.name;
    row.device = device.name;
    row.point = key;
    row.group = group_of(recorded.point);
    row.counter = prediction.counter;
    row.model = prediction.model;
    row.predicted = prediction.value;
    row.interval = prediction.interval;
    row.measured = spread.median;
    row.spread = spread.median > 0 ? (spread.largest - spread.smallest) / spread.median : 0;
    row.deviation = is_one_of_several(prediction.counter) ? (prediction.value == spread.median ? 0 : 1)
                                                          : deviation_of(prediction.value, spread.median);
    row.fitted = suite.fitted || prediction.fitted;
    judge(suite, row);
    comparison.rows.push_back(row);
  }
}

/// Takes back what known misses excused beyond their number of points, in the order of the recording.
void limit_known_misses(const Suite& suite, std::span<ComparisonRow> rows) {
  std::vector<std::size_t> excused(suite.known_misses.size(), 0);
  for (ComparisonRow& row : rows) {
    if (!row.known_miss) continue;
    const KnownMiss& miss = suite.known_misses[*row.known_miss];
    if (++excused[*row.known_miss] <= miss.points) continue;
    row.verdict = Verdict::kOutside;
    row.cause = "one more than the " + std::to_string(miss.points) + " points known for: " + miss.cause;
    row.known_miss.reset();
  }
}

/// The first tolerance that fits; null without.
const Tolerance* tolerance_of(const Suite& suite, const ComparisonRow& row) {
  const auto found =
      std::find_if(suite.tolerances.begin(), suite.tolerances.end(), [&](const Tolerance& each) {
        return each.counter == row.counter && row.model.find(each.model) != std::string::npos &&
               row.group.find(each.group) != std::string::npos;
      });
  return found == suite.tolerances.end() ? nullptr : &*found;
}

/// The scores of one suite over all its recordings, in the order of its tolerances.
void add_scores(const Suite& suite, Comparison& comparison) {
  for (const Tolerance& tolerance : suite.tolerances) {
    if (!tolerance.score) continue;
    std::vector<ScoredPoint> points;
    for (const ComparisonRow& row : comparison.rows) {
      if (row.suite == suite.name && row.verdict == Verdict::kScored && tolerance_of(suite, row) == &tolerance)
        points.push_back({row.predicted, row.measured, row.point});
    }
    if (points.empty()) continue;
    const Score reached = score_of(points, error_kind_of(tolerance.counter), tolerance.relative);
    comparison.scores.push_back({suite.name, tolerance.counter, tolerance.model, tolerance.group,
                                 tolerance.relative, reached, *tolerance.score});
  }
}

void count_verdicts(Comparison& comparison) {
  for (const ComparisonRow& row : comparison.rows) {
    comparison.within += row.verdict == Verdict::kWithin ? 1 : 0;
    comparison.outside += row.verdict == Verdict::kOutside ? 1 : 0;
    comparison.scored += row.verdict == Verdict::kScored ? 1 : 0;
    if (row.verdict != Verdict::kKnownMiss) continue;
    ++comparison.excused;
    comparison.excused_worst = std::max(comparison.excused_worst, std::abs(row.deviation));
  }
  for (const ScoreResult& score : comparison.scores) comparison.scores_missed += score.held() ? 0 : 1;
}

/// What the recording lacks of its suite.
void note_gaps(const Suite& suite, const Recording& recording, std::vector<std::string>& notes) {
  std::set<std::string> wanted;
  for (const Point& point : suite.points) wanted.insert(key_of(point));
  std::size_t absent = wanted.size(), uncounted = 0;
  for (const RecordedRow& row : recording.rows) {
    if (wanted.contains(key_of(row.point))) --absent;
    if (row.status == kMeasured && row.counters.size() < suite.counters.size()) ++uncounted;
  }
  const std::string head = suite.name + ": ";
  if (absent > 0) notes.push_back(head + std::to_string(absent) + " points of the suite are not recorded");
  if (uncounted > 0) notes.push_back(head + std::to_string(uncounted) + " points lack counters");
}

void leave_out(Uncompared recording, Comparison& comparison) {
  comparison.notes.push_back(recording.suite + ": " + recording.reason);
  comparison.uncompared.push_back(std::move(recording));
}

/// Why no row of a recording with a profile was compared.
Uncompared uncompared_rows(const Suite& suite, const Recording& recording, Fidelity fidelity) {
  if (recording.rows.empty()) return {suite.name, "the recording has no rows"};
  const bool measured = std::any_of(recording.rows.begin(), recording.rows.end(), [](const RecordedRow& row) {
    return row.timing || !row.counters.empty();
  });
  if (!measured)
    return {suite.name, "no row of the recording has a time or a counter, which is what models predict"};
  if (fidelity != Fidelity::kClosedForm)
    return {suite.name, "no row of the recording has a time or a counter that is predicted"};
  return {suite.name, "no closed form answers; a simulation may (fidelity: timed)", true};
}

/// The first of several texts, as many as a message holds.
std::string some_of(std::vector<std::string> texts) {
  constexpr std::size_t kShown = 4;
  const std::size_t more = texts.size() - std::min(texts.size(), kShown);
  texts.resize(texts.size() - more);
  return joined(texts, "; ") + (more > 0 ? "; and " + std::to_string(more) + " more" : "");
}

}  // namespace

void require_compared(const Comparison& comparison, Fidelity fidelity, const std::string& parameter,
                      const std::string& where) {
  if (!comparison.rows.empty()) return;
  std::vector<std::string> simulated, reasons;
  for (const Uncompared& recording : comparison.uncompared) {
    if (recording.timed_answers) simulated.push_back(recording.suite);
    reasons.push_back(recording.suite + ": " + recording.reason);
  }
  const bool simulation = !reasons.empty() && simulated.size() == reasons.size();
  for (std::vector<std::string>* texts : {&simulated, &reasons})
    texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  if (simulation) {
    throw InvalidParameter(mention("fidelity"), to_string(fidelity),
                           "timed: no closed form predicts what was recorded of " + some_of(simulated) +
                               ", so nothing can be compared without");
  }
  throw InvalidParameter(mention(parameter), where,
                         "what can be compared with a prediction (" + some_of(reasons) + ")");
}

ErrorKind error_kind_of(std::string_view quantity) noexcept {
  if (compares_by_difference(quantity)) return ErrorKind::kDifference;
  return is_one_of_several(quantity) ? ErrorKind::kChoice : ErrorKind::kFactor;
}

void judge(const Suite& suite, ComparisonRow& row) {
  const bool too_low = error_kind_of(row.counter) == ErrorKind::kFactor && row.deviation < 0;
  const double error = too_low ? 1 / (1 + row.deviation) - 1 : std::abs(row.deviation);  // half is as twice
  const Tolerance* const tolerance = tolerance_of(suite, row);
  if (tolerance == nullptr) return;
  row.tolerance = tolerance->relative;
  // A counter that saw nothing of what is predicted is broken: no miss of a model that a score could hold.
  if (tolerance->score && !std::isinf(row.deviation)) {
    row.verdict = Verdict::kScored;
    return;
  }
  // A NaN is never within a tolerance.
  row.verdict = error <= tolerance->relative ? Verdict::kWithin : Verdict::kOutside;
  if (row.verdict == Verdict::kWithin) return;
  for (const KnownMiss& miss : suite.known_misses) {
    if (miss.counter == row.counter && row.model.find(miss.model) != std::string::npos &&
        row.point.find(miss.point) != std::string::npos && error <= miss.worst) {
      row.verdict = Verdict::kKnownMiss;
      row.known_miss = static_cast<std::size_t>(&miss - suite.known_misses.data());
      row.cause = miss.cause;
      return;
    }
  }
}

std::vector<GroupSummary> summarise(const std::vector<ComparisonRow>& rows) {
  std::vector<GroupSummary> order;
  std::map<std::string, std::size_t> place;
  std::vector<std::vector<const ComparisonRow*>> members;
  const auto add = [&](const ComparisonRow& row, const std::string& group) {
    const std::string key =
        row.suite + "\n" + row.device + "\n" + row.counter + "\n" + row.model + "\n" + group;
    const auto [found, is_new] = place.try_emplace(key, order.size());
    if (is_new) {
      GroupSummary summary;
      summary.suite = row.suite;
      summary.device = row.device;
      summary.counter = row.counter;
      summary.model = row.model;
      summary.group = group;
      order.push_back(summary);
      members.emplace_back();
    }
    members[found->second].push_back(&row);
  };
  for (const ComparisonRow& row : rows) add(row, "");
  for (const ComparisonRow& row : rows) add(row, row.group);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i].not_fitted = errors_of(members[i], false);
    order[i].fitted = errors_of(members[i], true);
  }
  return order;
}

Comparison compare(const std::vector<Recording>& recordings, const std::vector<Suite>& suites,
                   const std::vector<Device>& devices, Fidelity fidelity,
                   const std::function<void(double)>& progress) {
  Comparison comparison;
  std::size_t all = 0, done = 0;
  for (const Recording& recording : recordings) all += recording.rows.size();
  for (const Recording& recording : recordings) {
    const Suite& suite = find_suite(suites, recording.head.suite);
    note_gaps(suite, recording, comparison.notes);
    const Device* const device = device_of(devices, recording.head.device.profile);
    if (device == nullptr) {
      leave_out({suite.name, missing_profile(recording.head.device)}, comparison);
      continue;
    }
    if (const std::string other = other_size(recording.head.device, *device); !other.empty()) {
      leave_out({suite.name, other + ", so nothing is predicted"}, comparison);
      continue;
    }
    const std::size_t first = comparison.rows.size();
    const BusiestRuns busiest = busiest_runs(recording);
    for (const RecordedRow& row : recording.rows) {
      if (progress) progress(static_cast<double>(done++) / static_cast<double>(all));
      compare_row(suite, row, *device, fidelity, busiest, comparison);
    }
    if (comparison.rows.size() == first) leave_out(uncompared_rows(suite, recording, fidelity), comparison);
    const std::vector<ComparisonRow> savings =
        compare_savings(suite, recording, std::span(comparison.rows).subspan(first));
    comparison.rows.insert(comparison.rows.end(), savings.begin(), savings.end());
    limit_known_misses(suite, std::span(comparison.rows).subspan(first));
  }
  comparison.groups = summarise(comparison.rows);
  for (const Suite& suite : suites) add_scores(suite, comparison);
  count_verdicts(comparison);
  return comparison;
}

}  // namespace natten_sim::validate
