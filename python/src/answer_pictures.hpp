#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::python {

/// Pictures of answers that the program does not draw.

/// What takes the milliseconds of time(), from its `result`. @throws InvalidParameter where the time is not known.
[[nodiscard]] std::string time_parts_svg(const report::Json& result);
/// Predicted against measured values of one counter of compare(), a colour a model.
[[nodiscard]] std::string counter_svg(const validate::Comparison& comparison, const std::string& counter);

}  // namespace natten_sim::python
