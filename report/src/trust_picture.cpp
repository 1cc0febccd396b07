#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/trust_picture.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::report {
namespace {

using validate::JudgedAnswer;

/// By nearest rank. Requires at least one value.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

/// Over what was predicted.
struct Ratios {
  std::vector<double> low, high, measured;
};

}  // namespace

draw::Picture trust_picture(const std::vector<JudgedAnswer>& answers) {
  std::map<std::tuple<std::string, std::string, std::string>, Ratios> regimes;
  for (const JudgedAnswer& answer : answers) {
    Ratios& ratios = regimes[{answer.kind, answer.device, answer.regime}];
    ratios.low.push_back(answer.low / answer.predicted);
    ratios.high.push_back(answer.high / answer.predicted);
    ratios.measured.push_back(answer.measured / answer.predicted);
  }
  draw::DotPlot plot{.heading = {"Intervals and measurements", counted(answers.size(), "measured answer")},
                     .value = {.label = "measured / predicted"},
                     .series = {"5% measured", "median measured", "95% measured", "interval from", "interval to"}};
  std::vector<double> numbers;
  for (const auto& [regime, ratios] : regimes) {
    const auto& [kind, device, name] = regime;
    const double low = quantile(ratios.low, 0.5), high = quantile(ratios.high, 0.5);
    numbers.insert(numbers.end(), {low, high});
    plot.rows.push_back({device + " " + name,
                         {quantile(ratios.measured, 0.05), quantile(ratios.measured, 0.5), quantile(ratios.measured, 0.95),
                          low, high}});
  }
  plot.value.scale = draw::scale_for(numbers);
  return picture_of(plot);
}

}  // namespace natten_sim::report
