#pragma once

#include <functional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/validate/suite.hpp>

namespace natten_sim::validate {

/// What the models say a counter will show for a point.
struct Prediction {
  std::string counter;  ///< label
  std::string model;    ///< "sectors, closed form"
  double value = 0;     ///< in the counter's unit
  bool fitted = false;  ///< the model was calibrated on this very point
};

/// One model for one counter. Empty where the model has no answer for the point.
using Predictor = std::function<std::vector<Prediction>(const Point&, const Device&)>;

/// kClosedForm: microseconds a point. kTimed: also the simulation in time, seconds for long sequences.
enum class Fidelity { kClosedForm, kTimed };

/// Every model of the project that predicts a counter of a suite, in the order in which reports show them.
[[nodiscard]] const std::vector<Predictor>& predictors(Fidelity fidelity);

/// All of their answers. @throws as the models do.
[[nodiscard]] std::vector<Prediction> predict(const Point& point, const Device& device,
                                              Fidelity fidelity = Fidelity::kClosedForm);

}  // namespace natten_sim::validate
