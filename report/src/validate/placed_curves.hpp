#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {

inline constexpr const char* kNeedsBothOrders =
    "recordings with cyclic and sawtooth at three lengths or more (suites sawtooth, reuse)";

/// A curve and where it was recorded.
struct PlacedCurve {
  std::string device;
  validate::OrderCurve curve;
  validate::Parting parting;
};

/// A length of a curve: what rows of several views begin with.
struct PlacedPoint {
  const PlacedCurve* at;
  const validate::OrderedPoint* point;
};
inline constexpr const char* kConfigurationMeaning = "Head dim, type, batch, tiles and CTAs per SM";

template <typename Members>
void put_place(Members& m) {
  m.put("device", path(&PlacedPoint::at, &PlacedCurve::device), kDeviceMeaning);
  m.put("configuration", path(&PlacedPoint::at, &PlacedCurve::curve, &validate::OrderCurve::name),
        kConfigurationMeaning);
  m.put("tokens", path(&PlacedPoint::point, &validate::OrderedPoint::tokens), "Tokens");
}

/// Of every suite but those that vary something else; empty without curves.
[[nodiscard]] std::vector<PlacedCurve> placed_curves(const RecordedData& data);
[[nodiscard]] std::vector<validate::OrderCurve> curves_alone(const std::vector<PlacedCurve>& placed);

}  // namespace natten_sim::report::views
