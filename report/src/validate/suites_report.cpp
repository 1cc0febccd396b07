#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/validate/measure/counters.hpp>

#include "validate/validation_members.hpp"

namespace natten_sim::report {
namespace {

using namespace natten_sim::validate;

/// The tolerances of a suite that have a score.
std::vector<const Tolerance*> scored_tolerances(const Suite& suite) {
  std::vector<const Tolerance*> scored;
  for (const Tolerance& each : suite.tolerances) {
    if (each.score) scored.push_back(&each);
  }
  return scored;
}

std::vector<const CounterSpec*> counters_of(const Suite& suite) {
  std::vector<const CounterSpec*> specs;
  for (const std::string& label : suite.counters) specs.push_back(&counter(label));
  return specs;
}

struct SuitesTold {
  const std::vector<Suite>* suites;
};

struct ChecksTold {
  const std::vector<CheckedPoint>* checks;
};

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

std::size_t count_wrong(const std::vector<CheckedPoint>& checks) {
  return static_cast<std::size_t>(std::count_if(
      checks.begin(), checks.end(), [](const CheckedPoint& check) { return check.ran && !check.passed; }));
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<Tolerance>) {
  m.put("counter", &Tolerance::counter);
  m.put("model", &Tolerance::model);
  m.put("group", &Tolerance::group);
  m.put("tolerance", &Tolerance::relative, "Largest deviation that agrees");
  m.include([](const Tolerance& each) -> const Score& { return *each.score; },
            [](auto& score) { put_score(score, [](auto member) { return member; }); });
}

template <typename Members>
void describe(Members& m, Of<Suite>) {
  m.put("name", &Suite::name, "Name of the suite");
  m.put("title", &Suite::title, "What it measures");
  m.put("points", path(&Suite::points, &std::vector<Point>::size), "Launches");
  m.put("counters", &counters_of, "Counters that it reads", [](auto& each) {
    each.put("label", &CounterSpec::label, "Name of the counter here");
    each.put("metric", &CounterSpec::metric, "Its name in CUPTI and Nsight Compute");
    each.put("unit", &CounterSpec::unit, "Its unit");
    each.put("meaning", &CounterSpec::meaning, "What it counts");
  });
  m.put("scores", &scored_tolerances, "Stored scores, below which they may not fall");
}

template <typename Members>
void describe(Members& m, Of<SuitesTold>) {
  m.put("suites", &SuitesTold::suites, "Suites of measurements");
}

template <typename Members>
void describe(Members& m, Of<CheckedPoint>) {
  using C = CheckedPoint;
  const auto if_ran = [](auto get) {
    return [get](const C& check) {
      using Value = std::remove_cvref_t<decltype(std::invoke(get, check))>;
      return check.ran ? std::optional<Value>(std::invoke(get, check)) : std::nullopt;
    };
  };
  m.put("point", &C::key, "The launch, by its key");
  m.put("error", finite(if_ran(&C::error)), "Relative error of the kernel; null: it did not run");
  m.put("naive_error", finite(if_ran(&C::naive_error)),
        "Relative error of a plain computation in the same type; null: it did not run");
  m.put("passed", if_ran(&C::passed), "Whether the kernel is right; null: it did not run");
  m.put("status", &C::status, "Whether it was checked, or why not");
}

template <typename Members>
void describe(Members& m, Of<ChecksTold>) {
  m.put("checks", &ChecksTold::checks, "Kernels beside their oracles");
  m.put("failed", path(&ChecksTold::checks, &count_wrong), "Kernels that are wrong");
}

Json suites_json(const std::vector<Suite>& suites) { return json_of(SuitesTold{&suites}); }

Json suites_schema() { return schema_of<SuitesTold>(); }

Rows suites_rows(const std::vector<Suite>& suites) {
  std::vector<Json> rows = rows_of(suites);
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

Json checks_json(const std::vector<CheckedPoint>& checks) { return json_of(ChecksTold{&checks}); }

Json checks_schema() { return schema_of<ChecksTold>(); }

Rows checks_rows(const std::vector<CheckedPoint>& checks) {
  return {json_of(CheckedPoint{}), rows_of(checks)};
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
