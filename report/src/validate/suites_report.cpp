#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/validate/measure/counters.hpp>

namespace natten_sim::report {
namespace {

using namespace natten_sim::validate;

/// JSON knows no infinity.
Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json scores_json(const Suite& suite) {
  Json scores = Json::array();
  for (const Tolerance& each : suite.tolerances) {
    if (!each.score) continue;
    scores.push_back({{"counter", each.counter},
                      {"model", each.model},
                      {"group", each.group},
                      {"tolerance", each.relative},
                      {"points", each.score->points},
                      {"within", each.score->within},
                      {"median", each.score->median},
                      {"p90", each.score->p90},
                      {"rank", each.score->rank},
                      {"skill", each.score->skill ? Json(*each.score->skill) : Json(nullptr)}});
  }
  return scores;
}

/// What a score judges, without the suite's name, which stands beside it.
std::string judged(const Suite& suite, const Tolerance& tolerance) {
  std::string group = tolerance.group;
  if (group.starts_with(suite.name + " ")) group.erase(0, suite.name.size() + 1);
  const std::string text = tolerance.model + (tolerance.model.empty() || group.empty() ? "" : ", ") + group;
  return text.empty() ? "all" : text;
}

std::string stored_scores_text(const std::vector<Suite>& suites) {
  std::vector<std::vector<std::string>> table = {
      {"suite", "quantity", "model, group", "points", "tolerance", "within", "median", "p90", "rank",
       "skill"}};
  const auto percent = [](double value) { return fmt::format("{:.1f}%", 100 * value); };
  for (const Suite& suite : suites) {
    for (const Tolerance& each : suite.tolerances) {
      if (!each.score) continue;
      table.push_back({suite.name, each.counter, judged(suite, each), std::to_string(each.score->points),
                       fmt::format("{:.0f}%", 100 * each.relative), percent(each.score->within),
                       percent(each.score->median), percent(each.score->p90),
                       fmt::format("{:.3f}", each.score->rank), skill_text(*each.score)});
    }
  }
  return table.size() == 1 ? "" : "\nStored scores\n" + text_table(table);
}

std::vector<Json> suite_rows(const std::vector<Suite>& suites) {
  std::vector<Json> rows;
  for (const Suite& suite : suites) {
    Json counters = Json::array();
    for (const std::string& label : suite.counters) {
      const CounterSpec& spec = counter(label);
      counters.push_back({{"label", label},
                          {"metric", std::string(spec.metric)},
                          {"unit", std::string(spec.unit)},
                          {"meaning", std::string(spec.meaning)}});
    }
    rows.push_back({{"name", suite.name},
                    {"title", suite.title},
                    {"points", suite.points.size()},
                    {"counters", counters},
                    {"scores", scores_json(suite)}});
  }
  return rows;
}

/// Whether the check passed; null where it did not run.
std::vector<Json> check_rows(const std::vector<CheckedPoint>& checks) {
  std::vector<Json> rows;
  for (const CheckedPoint& check : checks) {
    rows.push_back({{"point", check.key},
                    {"error", check.ran ? finite_or_null(check.error) : Json(nullptr)},
                    {"naive_error", check.ran ? finite_or_null(check.naive_error) : Json(nullptr)},
                    {"passed", check.ran ? Json(check.passed) : Json(nullptr)},
                    {"status", check.status}});
  }
  return rows;
}

std::size_t count_wrong(const std::vector<CheckedPoint>& checks) {
  return static_cast<std::size_t>(std::count_if(
      checks.begin(), checks.end(), [](const CheckedPoint& check) { return check.ran && !check.passed; }));
}

}  // namespace

Json suites_json(const std::vector<Suite>& suites) { return {{"suites", suite_rows(suites)}}; }

Rows suites_rows(const std::vector<Suite>& suites) {
  std::vector<Json> rows = suite_rows(suites);
  for (Json& row : rows) {
    std::string labels;
    for (const Json& each : row["counters"]) {
      labels += (labels.empty() ? "" : " ") + each["label"].get<std::string>();
    }
    row["counters"] = labels;
    row.erase("scores");  // a table of their own
  }
  return {{{"name", ""}, {"title", ""}, {"points", 0}, {"counters", ""}}, rows};
}

std::string suites_text(const std::vector<Suite>& suites) {
  std::vector<std::vector<std::string>> table = {{"suite", "points", "counters", "what"}};
  for (const Suite& suite : suites) {
    std::string counters;
    for (const std::string& label : suite.counters) counters += (counters.empty() ? "" : ", ") + label;
    table.push_back({suite.name, std::to_string(suite.points.size()),
                     counters.empty() ? "times only" : counters, suite.title});
  }
  std::string text = text_table(table, LastColumn::kLeft) + "\n";
  for (const CounterSpec& spec : counter_table()) {
    text += fmt::format("{} = {} [{}] on {}\n    {}\n", spec.label, spec.metric, spec.unit, spec.chips,
                        spec.meaning);
  }
  return text + stored_scores_text(suites);
}

Json checks_json(const std::vector<CheckedPoint>& checks) {
  return {{"checks", check_rows(checks)}, {"failed", count_wrong(checks)}};
}

Rows checks_rows(const std::vector<CheckedPoint>& checks) {
  return {check_rows({CheckedPoint{}}).front(), check_rows(checks)};
}

std::string checks_text(const std::vector<CheckedPoint>& checks) {
  std::vector<std::vector<std::string>> table = {{"point", "error", "naive", "verdict"}};
  std::size_t ran = 0;
  for (const CheckedPoint& check : checks) {
    ran += check.ran ? 1 : 0;
    if (check.ran) {
      table.push_back({check.key, fmt::format("{:.2e}", check.error),
                       fmt::format("{:.2e}", check.naive_error), check.passed ? "agrees" : "WRONG"});
    } else {
      table.push_back({check.key, "-", "-", "not run: " + check.status});
    }
  }
  return text_table(table, LastColumn::kLeft) + fmt::format("\n{} checked, {} wrong, {} not run\n",
                                                            counted(ran, "point"), count_wrong(checks),
                                                            checks.size() - ran);
}

}  // namespace natten_sim::report
