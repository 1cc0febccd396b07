#pragma once

#include <functional>
#include <string>
#include <vector>

#include <natten_sim/core/fidelity.hpp>
#include <natten_sim/validate/compare/suite.hpp>

namespace natten_sim::validate {

/// Predictions of suites without recordings: stored before anybody measures, they judge the models blindly.

struct FrozenPrediction {
  std::string suite;
  Point point;
  Prediction prediction;
};

struct FrozenPredictions {
  std::string device;
  std::vector<FrozenPrediction> predictions;  ///< of what the suites measure, in the order of their points
  std::vector<std::string> silent;            ///< "suite: point" for which no model answers
};

/// What `compare` would hold against a recording of every point of the suites on the device.
[[nodiscard]] FrozenPredictions freeze(const std::vector<Suite>& suites, const Device& device, Fidelity fidelity,
                                       const std::function<void(double)>& progress = {});

}  // namespace natten_sim::validate
