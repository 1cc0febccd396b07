#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>

namespace natten_sim::report {
namespace {

using validate::FrozenPrediction;
using validate::FrozenPredictions;

Json parameters_json(const validate::Point& point) {
  Json parameters = Json::object();
  for (const validate::Parameter& each : point->parameters())
    std::visit([&](const auto& value) { parameters[each.name] = value; }, each.value);
  return parameters;
}

Json frozen_row(const std::string& device, const std::string& suite, const std::string& point,
                const validate::Prediction& prediction) {
  const auto& [counter, model, value, fitted, interval] = prediction;
  return {{"suite", suite},
          {"device", device},
          {"point", point},
          {"counter", counter},
          {"model", model},
          {"fitted", fitted},
          {"predicted", value},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)}};
}

}  // namespace

Json frozen_json(const FrozenPredictions& frozen) {
  Json rows = Json::array();
  for (const FrozenPrediction& each : frozen.predictions) {
    rows.push_back(frozen_row(frozen.device, each.suite, validate::key_of(each.point), each.prediction));
    rows.back()["parameters"] = parameters_json(each.point);
  }
  return {{"predictions", std::move(rows)}, {"not_predicted", frozen.silent}};
}

Rows frozen_rows(const FrozenPredictions& frozen) {
  std::vector<Json> rows;
  for (const FrozenPrediction& each : frozen.predictions)
    rows.push_back(frozen_row(frozen.device, each.suite, validate::key_of(each.point), each.prediction));
  return {frozen_row("", "", "", {}), rows};
}

std::string frozen_text(const FrozenPredictions& frozen) {
  std::vector<std::vector<std::string>> table = {{"point", "counter", "predicted", "low", "high"}};
  for (const auto& [suite, point, prediction] : frozen.predictions) {
    const auto end = [&](double validate::PredictedInterval::* member) {
      return prediction.interval ? fmt::format("{:.6g}", (*prediction.interval).*member) : std::string();
    };
    table.push_back({validate::key_of(point), prediction.counter, fmt::format("{:.6g}", prediction.value),
                     end(&validate::PredictedInterval::low), end(&validate::PredictedInterval::high)});
  }
  return text_table(table) + fmt::format("\n{} predictions for {}; {} points without\n", frozen.predictions.size(),
                                         frozen.device, frozen.silent.size());
}

}  // namespace natten_sim::report
