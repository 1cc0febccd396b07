#include <natten_sim/report/validation_report.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/validate/measure/counters.hpp>

namespace natten_sim::report {
namespace {

using namespace natten_sim::validate;

/// JSON knows no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json row_json(const ComparisonRow& row) {
  return {{"suite", row.suite},
          {"device", row.device},
          {"point", row.point},
          {"group", row.group},
          {"counter", row.counter},
          {"model", row.model},
          {"predicted", row.predicted},
          {"measured", row.measured},
          {"deviation", finite(row.deviation)},
          {"spread", row.spread},
          {"fitted", row.fitted},
          {"tolerance", row.tolerance ? Json(*row.tolerance) : Json(nullptr)},
          {"verdict", to_string(row.verdict)},
          {"cause", row.cause}};
}

Json errors_json(const std::optional<ErrorSummary>& errors) {
  if (!errors) return nullptr;
  return {{"points", errors->points},         {"mape", finite(errors->mape)},
          {"median", finite(errors->median)}, {"p95", finite(errors->p95)},
          {"worst", finite(errors->worst)},   {"worst_point", errors->worst_point}};
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

Json score_json(const Score& score) {
  return {{"points", score.points},
          {"within", score.within},
          {"median", finite(score.median)},
          {"p90", finite(score.p90)},
          {"rank", score.rank},
          {"skill", score.skill ? finite(*score.skill) : Json(nullptr)}};
}

Json score_result_json(const ScoreResult& score) {
  return {{"suite", score.suite},
          {"counter", score.counter},
          {"model", score.model},
          {"group", score.group},
          {"tolerance", score.tolerance},
          {"reached", score_json(score.reached)},
          {"stored", score_json(score.stored)},
          {"judged", score.judged()},
          {"held", score.held()}};
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

Json validation_json(const std::vector<Recording>& recordings, const Comparison& comparison) {
  Json heads = Json::array(), rows = Json::array(), groups = Json::array(), times = Json::array();
  for (const Recording& recording : recordings) {
    heads.push_back({{"suite", recording.head.suite},
                     {"points", recording.rows.size()},
                     {"device", recording.head.device.name},
                     {"driver", recording.head.driver},
                     {"toolkit", recording.head.toolkit},
                     {"profiler", recording.head.profiler},
                     {"commit", recording.head.commit}});
    for (const RecordedRow& row : recording.rows) {
      if (!row.timing) continue;
      const auto rate = teraflops(row);
      times.push_back({{"suite", recording.head.suite},
                       {"point", key_of(row.point)},
                       {"median_ms", row.timing->milliseconds.median},
                       {"p95_ms", row.timing->milliseconds.p95},
                       {"repetitions", row.timing->repetitions},
                       {"inputs", row.timing->inputs},
                       {"tflops", rate ? Json(*rate) : Json(nullptr)}});
    }
  }
  for (const ComparisonRow& row : comparison.rows) rows.push_back(row_json(row));
  for (const GroupSummary& group : comparison.groups) {
    groups.push_back({{"suite", group.suite},
                      {"device", group.device},
                      {"counter", group.counter},
                      {"model", group.model},
                      {"group", group.group},
                      {"not_fitted", errors_json(group.not_fitted)},
                      {"fitted", errors_json(group.fitted)}});
  }
  Json scores = Json::array();
  for (const ScoreResult& score : comparison.scores) scores.push_back(score_result_json(score));
  return {{"recordings", heads},
          {"rows", rows},
          {"groups", groups},
          {"throughput", times},
          {"scores", scores},
          {"within", comparison.within},
          {"excused", comparison.excused},
          {"excused_worst", comparison.excused_worst},
          {"out_of_tolerance", comparison.outside},
          {"scored", comparison.scored},
          {"scores_missed", comparison.scores_missed},
          {"notes", comparison.notes}};
}

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
  std::vector<Json> rows;
  for (const ComparisonRow& row : comparison.rows) rows.push_back(row_json(row));
  return {row_json(ComparisonRow{}), rows};
}

}  // namespace natten_sim::report
