#pragma once

#include <optional>
#include <string>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/scatter.hpp>

namespace natten_sim::report::views {

/// One parameter of scatter-adds as the x of curves; points that share all others make a curve.
struct ScatterAxis {
  const char* label;  ///< "elements per row"
  const char* key;    ///< "width"
  draw::Scale scale = draw::Scale::kLog;
  /// None where the point has no such number.
  std::optional<double> (*x)(const validate::ScatterCase& point) = nullptr;
  /// All other parameters.
  std::string (*series)(const validate::ScatterCase& point) = nullptr;
};

inline constexpr const char* kNeedsScatter = "recordings of the suite scatter";

/// Measured and predicted times over the axis, of the curves with the most points. Empty without any.
[[nodiscard]] std::optional<ValidationView> scatter_curves(const RecordedData& data, const ScatterAxis& axis);
[[nodiscard]] Json scatter_schema(const ScatterAxis& axis);

}  // namespace natten_sim::report::views
