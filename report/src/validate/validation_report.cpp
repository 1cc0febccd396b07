#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/validate/measure/counters.hpp>

#include "validate/validation_members.hpp"

namespace natten_sim::report {
namespace {

using namespace natten_sim::validate;

/// A recorded time, as it is printed.
struct TimedRow {
  const Recording* recording;
  const RecordedRow* row;
};

/// What `validate` answers about recordings.
struct ValidationTold {
  const std::vector<Recording>* recordings;
  const Comparison* comparison;
};

std::vector<TimedRow> timed_rows(const ValidationTold& told) {
  std::vector<TimedRow> rows;
  for (const Recording& recording : *told.recordings) {
    for (const RecordedRow& row : recording.rows) {
      if (row.timing) rows.push_back({&recording, &row});
    }
  }
  return rows;
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return "nothing measured";
  return fmt::format("{:.3f}%", 100 * fraction);
}

std::string count_text(double value) { return grouped(static_cast<std::int64_t>(value + 0.5)); }

std::string head_text(const Recording& recording) {
  const RecordingHead& head = recording.head;
  return wrapped_text(fmt::format("{}: {} on {} ({} SMs), driver {}, {}; {}; clocks {}; {}; commit {}",
                                  head.suite, counted(recording.rows.size(), "point"), head.device.name,
                                  head.device.sms, head.driver, head.toolkit, head.profiler,
                                  head.clocks_policy, head.cache_control, head.commit));
}

std::string groups_text(const Comparison& comparison) {
  std::set<std::string> devices;
  for (const GroupSummary& group : comparison.groups) devices.insert(group.device);
  std::vector<std::vector<std::string>> table = {
      {"group", "suite", "counter", "points", "mean", "median", "p95", "worst"}};
  for (const GroupSummary& group : comparison.groups) {
    for (const bool fitted : {false, true}) {
      const std::optional<ErrorSummary>& errors = fitted ? group.fitted : group.not_fitted;
      if (!errors) continue;
      table.push_back(
          {(group.group.empty() ? "all: " + group.model : "  " + group.group) + (fitted ? " (fitted)" : ""),
           devices.size() > 1 ? group.suite + " on " + group.device : group.suite, group.counter,
           std::to_string(errors->points), percent(errors->mape), percent(errors->median),
           percent(errors->p95), percent(errors->worst)});
    }
  }
  return table.size() == 1 ? "" : "\nAbsolute deviation of predicted from measured\n" + text_table(table);
}

/// A counter's value, or a saving in percent.
std::string value_text(const std::string& counter, double value) {
  return compares_by_difference(counter) ? fmt::format("{:.2f}%", 100 * value) : count_text(value);
}

/// How many savings are predicted within the goal, by both readings of it.
std::string savings_text(const Comparison& comparison) {
  std::vector<std::string> models;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.counter == kSaving && std::find(models.begin(), models.end(), row.model) == models.end()) {
      models.push_back(row.model);
    }
  }
  std::string text;
  for (const std::string& model : models) {
    const SavingSummary summary = summarise_savings(comparison.rows, model);
    text += wrapped_text(
        fmt::format("  {}: {} of {} pairs within 5% of the cyclic reads; of {} that save more than 5%, {} "
                    "within 5% of the saving",
                    model, summary.within_points, summary.pairs, summary.parted, summary.within_ratio));
  }
  return text.empty() ? "" : "\nWhat a sawtooth saves of the DRAM reads of a cyclic walk\n" + text;
}

std::string rows_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> table = {
      {"point", "counter", "model", "predicted", "measured", "deviation", "verdict"}};
  for (const ComparisonRow& row : comparison.rows) {
    table.push_back({row.point, row.counter, row.model, value_text(row.counter, row.predicted),
                     value_text(row.counter, row.measured), fmt::format("{:+.2f}%", 100 * row.deviation),
                     to_string(row.verdict)});
  }
  return "\nEvery comparison\n" + text_table(table, LastColumn::kLeft);
}

/// What a score reached, and what is stored where that reads differently: "0.556 (0.554)".
std::string beside(const std::string& reached, const std::string& stored) {
  return reached == stored ? reached : reached + " (" + stored + ")";
}

std::string scores_text(const Comparison& comparison) {
  if (comparison.scores.empty()) return "";
  std::vector<std::vector<std::string>> table = {
      {"suite", "counter", "model", "group", "points", "tolerance", "within", "median", "p90", "rank", "skill", ""}};
  const auto plain = [](double value) { return fmt::format("{:.3f}", value); };
  const auto rounded = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.1f}%", 100 * value) : std::string("nothing measured");
  };
  for (const ScoreResult& score : comparison.scores) {
    const Score &reached = score.reached, &stored = score.stored;
    table.push_back({score.suite, score.counter, score.model.empty() ? "all" : score.model,
                     score.group.empty() ? "all" : score.group, std::to_string(reached.points),
                     rounded(score.tolerance), beside(rounded(reached.within), rounded(stored.within)),
                     beside(rounded(reached.median), rounded(stored.median)),
                     beside(rounded(reached.p90), rounded(stored.p90)),
                     beside(plain(reached.rank), plain(stored.rank)),
                     stored.skill ? beside(skill_text(reached), skill_text(stored)) : skill_text(reached),
                     !score.judged() ? "some of its points: not judged"
                     : score.held()  ? "held"
                                     : "BELOW WHAT IS STORED"});
  }
  return "\nScores of points that nothing excuses, and the stored ones below which they may not fall\n" +
         text_table(table, LastColumn::kLeft);
}

std::string misses_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> outside = {
      {"point", "counter", "predicted", "measured", "deviation", "tolerance"}};
  std::map<std::string, std::pair<std::size_t, double>> known;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.verdict == Verdict::kOutside) {
      outside.push_back(
          {row.point, row.counter, value_text(row.counter, row.predicted),
           value_text(row.counter, row.measured),
           std::isfinite(row.deviation) ? fmt::format("{:+.2f}%", 100 * row.deviation) : "nothing measured",
           percent(*row.tolerance)});
    } else if (row.verdict == Verdict::kKnownMiss) {
      auto& [count, worst] = known[row.counter + ": " + row.cause];
      ++count;
      worst = std::max(worst, std::abs(row.deviation));
    }
  }
  std::string text;
  if (!known.empty()) text += "\nKnown misses\n";
  for (const auto& [cause, points] : known) {
    text += wrapped_text(
        fmt::format("  {}, worst {}: {}", counted(points.first, "point"), percent(points.second), cause));
  }
  if (outside.size() > 1) text += "\nOut of tolerance\n" + text_table(outside);
  return text;
}

/// TFLOP/s of one configuration over lengths and tiles; the best of a length is marked.
struct TilesTable {
  std::vector<std::string> shapes;  // in the order of the recording
  std::map<std::int64_t, std::map<std::string, const RecordedRow*>> rows;
  std::map<std::int64_t, double> best;

  void add(const AttentionCase& point, const RecordedRow& row) {
    const std::string shape = point.tiles_text();
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    rows[point.problem.tokens][shape] = &row;
    double& top = best[point.problem.tokens];
    top = std::max(top, teraflops(row).value_or(0));
  }

  [[nodiscard]] std::string text() const {
    std::vector<std::vector<std::string>> table = {{"tokens"}};
    for (const std::string& shape : shapes) table.front().push_back(shape);
    for (const auto& [tokens, cells] : rows) {
      table.push_back({std::to_string(tokens)});
      for (const std::string& shape : shapes) {
        const auto found = cells.find(shape);
        const auto rate = found == cells.end() ? std::nullopt : teraflops(*found->second);
        table.back().push_back(found == cells.end() ? "-"
                               : !rate              ? found->second->status
                                       : fmt::format("{:.0f}{}", *rate, *rate == best.at(tokens) ? "*" : " "));
      }
    }
    return text_table(table);
  }
};

/// Throughputs of the suite that varies tiles; empty for others.
std::string throughput_text(const Recording& recording) {
  if (recording.head.suite != "tiles") return "";
  std::map<std::string, TilesTable> tables;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<AttentionCase>();
    if (point == nullptr) continue;
    const kernels::AttentionProblem& p = point->problem;
    tables[fmt::format("head dim {}, {} heads, {}, {}", p.head_dim, p.heads, p.causal ? "causal" : "full",
                       to_string(p.dtype))]
        .add(*point, row);
  }
  std::string text;
  for (const auto& [name, table] : tables)
    text += "\nTFLOP/s, " + name + " (* the best tiles of a length)\n" + table.text();
  return text;
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<ComparisonRow>) {
  using R = ComparisonRow;
  m.put("suite", &R::suite);
  m.put("device", &R::device);
  m.put("point", &R::point, "The launch, by its key in the recording");
  m.put("group", &R::group);
  m.put("counter", &R::counter);
  m.put("model", &R::model);
  m.put("predicted", &R::predicted, "What was predicted");
  m.put("measured", finite(&R::measured), "What was measured, the median; null: nothing was measured");
  m.put("deviation", finite(&R::deviation),
        "Predicted over measured, less 1; of savings the difference; null: nothing was measured");
  m.put("spread", finite(&R::spread),
        "Largest less smallest measurement over the median; null: nothing was measured");
  m.put("fitted", &R::fitted, "Whether the model was fitted to this point");
  m.put("tolerance", &R::tolerance, "Largest deviation that agrees; null: none is stated");
  m.put("verdict", &R::verdict, "Whether the values agree");
  m.put("cause", &R::cause, "Cause of a known miss; empty: it is none");
}

template <typename Members>
void describe(Members& m, Of<ErrorSummary>) {
  using E = ErrorSummary;
  m.put("points", &E::points, "Points");
  m.put("mape", finite(&E::mape),
        "Mean of the absolute relative errors; null: nothing was measured somewhere");
  m.put("median", finite(&E::median));
  m.put("p95", finite(&E::p95), "95th percentile of the relative errors");
  m.put("worst", finite(&E::worst), "Largest relative error");
  m.put("worst_point", &E::worst_point, "The point with that error");
}

template <typename Members>
void describe(Members& m, Of<GroupSummary>) {
  using G = GroupSummary;
  m.put("suite", &G::suite);
  m.put("device", &G::device);
  m.put("counter", &G::counter);
  m.put("model", &G::model);
  m.put("group", &G::group);
  m.put("not_fitted", &G::not_fitted,
        "Errors on points that the model was not fitted to; null: there are none");
  m.put("fitted", &G::fitted, "Errors on points that the model was fitted to; null: there are none");
}

template <typename Members>
void describe(Members& m, Of<ScoreResult>) {
  using S = ScoreResult;
  m.put("suite", &S::suite);
  m.put("counter", &S::counter);
  m.put("model", &S::model);
  m.put("group", &S::group);
  m.put("tolerance", &S::tolerance, "Largest deviation that agrees");
  m.put("reached", &S::reached, "The score now",
        [](auto& score) { put_score(score, [](auto member) { return member; }); });
  m.put("stored", &S::stored, "The score below which it may not fall",
        [](auto& score) { put_score(score, [](auto member) { return member; }); });
  m.put("judged", &S::judged, "Whether there are as many points as the stored score was made of");
  m.put("held", &S::held, "Whether the score is as good as the stored one");
}

template <typename Members>
void describe(Members& m, Of<Recording>) {
  const auto head = [](auto... members) { return path(&Recording::head, members...); };
  m.put("suite", head(&RecordingHead::suite));
  m.put("points", path(&Recording::rows, &std::vector<RecordedRow>::size), "Recorded launches");
  m.put("device", head(&RecordingHead::device, &RecordedDevice::name), "GPU, as its driver names it");
  m.put("driver", head(&RecordingHead::driver), "Driver");
  m.put("toolkit", head(&RecordingHead::toolkit), "CUDA toolkit");
  m.put("profiler", head(&RecordingHead::profiler), "Profiler, or why there are no counters");
  m.put("commit", head(&RecordingHead::commit), "Commit of the sources that measured");
}

template <typename Members>
void describe(Members& m, Of<TimedRow>) {
  const auto timing = [](auto get) {
    return [get](const TimedRow& each) { return std::invoke(get, *each.row->timing); };
  };
  m.put("suite", path(&TimedRow::recording, &Recording::head, &RecordingHead::suite));
  m.put(
      "point", [](const TimedRow& each) { return key_of(each.row->point); },
      "The launch, by its key in the recording");
  m.put("median_ms", timing([](const auto& each) { return each.milliseconds.median; }),
        "Measured time, the median");
  m.put("p95_ms", timing([](const auto& each) { return each.milliseconds.p95; }),
        "Measured time, its 95th percentile");
  m.put("repetitions", timing([](const auto& each) { return each.repetitions; }), "Timed launches");
  m.put("inputs", timing([](const auto& each) { return each.inputs; }),
        "Inputs that they went through in turn");
  m.put(
      "tflops", [](const TimedRow& each) { return teraflops(*each.row); },
      "TFLOP/s; null: the launch multiplies nothing");
}

template <typename Members>
void describe(Members& m, Of<ValidationTold>) {
  using C = Comparison;
  const auto of = [](auto member) { return path(&ValidationTold::comparison, member); };
  m.put(
      "recordings", [](const ValidationTold& told) -> const auto& { return *told.recordings; },
      "Recordings that were read");
  m.put("rows", of(&C::rows), "A row per prediction that is compared");
  m.put("groups", of(&C::groups), "Errors of groups of points");
  m.put("throughput", &timed_rows, "Recorded times");
  m.put("scores", of(&C::scores), "Scores of points that are judged together");
  m.put("within", of(&C::within), "Rows within their tolerance");
  m.put("excused", of(&C::excused), "Known misses");
  m.put("excused_worst", of(&C::excused_worst), "Largest deviation of a known miss");
  m.put("out_of_tolerance", of(&C::outside), "New misses");
  m.put("scored", of(&C::scored), "Rows that scores judge");
  m.put("scores_missed", of(&C::scores_missed), "Scores below what is stored");
  m.put("notes", of(&C::notes), "Points without a measurement or a prediction, and why");
}

Json validation_json(const std::vector<Recording>& recordings, const Comparison& comparison) {
  return json_of(ValidationTold{&recordings, &comparison});
}

Json validation_schema() { return schema_of<ValidationTold>(); }

bool has_throughput_table(const std::vector<Recording>& recordings) {
  return std::any_of(recordings.begin(), recordings.end(),
                     [](const Recording& recording) { return !throughput_text(recording).empty(); });
}

std::string validation_text(const std::vector<Recording>& recordings, const Comparison& comparison,
                            RowsText rows) {
  std::string text;
  for (const Recording& recording : recordings) text += head_text(recording);
  text += groups_text(comparison) + savings_text(comparison) + scores_text(comparison) +
          misses_text(comparison);
  if (rows == RowsText::kAll) text += rows_text(comparison);
  for (const Recording& recording : recordings) text += throughput_text(recording);
  if (!comparison.notes.empty()) text += "\n";
  for (const std::string& note : comparison.notes) text += "not compared: " + note + "\n";
  return text + "\n" + verdict_text(comparison) + "\n";
}

std::string verdict_text(const Comparison& comparison) {
  const std::size_t judged = comparison.within + comparison.excused + comparison.outside;
  std::string text = fmt::format("{} comparisons: {} within", comparison.rows.size(), comparison.within);
  text += fmt::format(", {} excused", comparison.excused);
  if (comparison.excused > 0) text += fmt::format(" (worst {})", percent(comparison.excused_worst));
  text += fmt::format(", {} outside", comparison.outside);
  if (comparison.scored > 0) {
    text += fmt::format(", {} scored ({} of {} scores below what is stored)", comparison.scored,
                        comparison.scores_missed, comparison.scores.size());
  }
  const std::size_t others = comparison.rows.size() - judged - comparison.scored;
  if (others > 0) text += fmt::format(", {} not judged", others);
  return text;
}

Rows validation_rows(const Comparison& comparison) {
  return {json_of(ComparisonRow{}), rows_of(comparison.rows)};
}

}  // namespace natten_sim::report
