#include <algorithm>

#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/frozen.hpp>

namespace natten_sim::validate {
namespace {

bool is_measured(const Suite& suite, const std::string& quantity) {
  if (quantity == kLaunchTime) return suite.timed;
  return std::find(suite.counters.begin(), suite.counters.end(), quantity) != suite.counters.end();
}

}  // namespace

FrozenPredictions freeze(const std::vector<Suite>& suites, const Device& device, Fidelity fidelity,
                         const std::function<void(double)>& progress) {
  FrozenPredictions frozen{.device = device.name};
  std::size_t points = 0, done = 0;
  for (const Suite& suite : suites) points += suite.points.size();
  for (const Suite& suite : suites) {
    for (const Point& point : suite.points) {
      const std::size_t before = frozen.predictions.size();
      for (Prediction& prediction : predict(point, device, fidelity)) {
        if (is_measured(suite, prediction.counter))
          frozen.predictions.push_back({suite.name, point, std::move(prediction)});
      }
      if (frozen.predictions.size() == before) frozen.silent.push_back(suite.name + ": " + key_of(point));
      if (progress) progress(static_cast<double>(++done) / static_cast<double>(points));
    }
  }
  return frozen;
}

}  // namespace natten_sim::validate
