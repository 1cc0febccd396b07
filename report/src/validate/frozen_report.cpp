#include <fmt/format.h>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>

namespace natten_sim::report {
namespace {

using validate::FrozenPrediction;
using validate::FrozenPredictions;

/// A prediction of an answer.
struct FrozenRow {
  const std::string* device;
  const FrozenPrediction* frozen;
};

OpenObject parameters_of(const FrozenRow& row) {
  OpenObject parameters;
  for (const validate::Parameter& each : row.frozen->point->parameters())
    std::visit([&](const auto& value) { parameters.members[each.name] = value; }, each.value);
  return parameters;
}

std::vector<FrozenRow> rows_in(const FrozenPredictions& frozen) {
  std::vector<FrozenRow> rows;
  for (const FrozenPrediction& each : frozen.predictions) rows.push_back({&frozen.device, &each});
  return rows;
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<FrozenRow>) {
  using P = validate::Prediction;
  using I = validate::PredictedInterval;
  const auto of = [](auto... members) {
    return path(&FrozenRow::frozen, &FrozenPrediction::prediction, members...);
  };
  m.put("suite", path(&FrozenRow::frozen, &FrozenPrediction::suite));
  m.put("device", path(&FrozenRow::device));
  m.put("point", [](const FrozenRow& row) { return validate::key_of(row.frozen->point); },
        "The launch, by its key in a recording");
  m.put("counter", of(&P::counter));
  m.put("model", of(&P::model));
  m.put("fitted", of(&P::fitted), "Whether the model was fitted to this point");
  m.put("predicted", of(&P::value), "What is predicted");
  m.put("low", of(&P::interval, &I::low), "Lower end of the interval; null: none is stated");
  m.put("high", of(&P::interval, &I::high), "Upper end of the interval; null: none is stated");
  m.put("parameters", &parameters_of, "Parameters of the point, by name");
}

template <typename Members>
void describe(Members& m, Of<FrozenPredictions>) {
  m.put("predictions", &rows_in, "Predictions of the suites, in the order of their points");
  m.put("not_predicted", &FrozenPredictions::silent, "Points that no model answers");
}

Json frozen_json(const FrozenPredictions& frozen) { return json_of(frozen); }

Json frozen_schema() { return schema_of<FrozenPredictions>(); }

Rows frozen_rows(const FrozenPredictions& frozen) {
  std::vector<Json> rows = rows_of(rows_in(frozen));
  for (Json& row : rows) row.erase("parameters");
  Json header = header_of(schema_of<FrozenRow>());
  header.erase("parameters");
  return {header, rows};
}

std::string frozen_text(const FrozenPredictions& frozen) {
  std::vector<std::vector<std::string>> table = {{"point", "counter", "predicted", "low", "high"}};
  for (const auto& [suite, point, prediction] : frozen.predictions) {
    const auto end = [&interval = prediction.interval](double validate::PredictedInterval::* member) {
      return interval ? fmt::format("{:.6g}", (*interval).*member) : std::string();
    };
    table.push_back({validate::key_of(point), prediction.counter, fmt::format("{:.6g}", prediction.value),
                     end(&validate::PredictedInterval::low), end(&validate::PredictedInterval::high)});
  }
  return text_table(table) + fmt::format("\n{} predictions for {}; {} points without\n", frozen.predictions.size(),
                                         frozen.device, frozen.silent.size());
}

}  // namespace natten_sim::report
