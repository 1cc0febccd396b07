#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

namespace natten_sim::report::views {

inline constexpr const char* kNeedsBothOrders =
    "recordings with cyclic and sawtooth at three lengths or more (suites sawtooth, reuse)";

/// A curve and where it was recorded.
struct PlacedCurve {
  std::string device;
  validate::OrderCurve curve;
  validate::Parting parting;
};

/// Of every suite but those that vary something else; empty without curves.
[[nodiscard]] std::vector<PlacedCurve> placed_curves(const RecordedData& data);
[[nodiscard]] std::vector<validate::OrderCurve> curves_alone(const std::vector<PlacedCurve>& placed);

}  // namespace natten_sim::report::views
