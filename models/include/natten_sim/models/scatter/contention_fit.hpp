#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/models/scatter/contention.hpp>

namespace natten_sim {

/// Constants of one device, fitted on timed scatter_add runs.
struct ContentionFit {
  ContentionProfile profile;  ///< with the fitted constants in place
  std::int64_t points = 0;    ///< points that entered the fit
  double rms_log_error = 0;   ///< root mean square of ln(predicted / timed) over those points
};

/// Times between which a run is expected.
struct TimeInterval {
  double least_ns = 0, most_ns = 0;
};

/// How far a device's constants are off on points that none of them was fitted to.
struct CalibrationError {
  /// The kind of scatter that these points are of; absent for a device that was not swept: all of its points.
  std::optional<ScatterKind> kind;
  /// What of the question lies outside of the points: "width", "updates", "rows", "construct". Then nothing
  /// is known about the error.
  std::vector<std::string> outside;
  std::int64_t fitted_points = 0, unfitted_points = 0;
  std::optional<double>
      unfitted_worst_ratio;  ///< the larger of predicted / timed and its inverse; absent without such a point
  std::optional<double> unfitted_mean_ratio;  ///< geometric mean of the same
  /// Where the time lies, of a device that was swept (`swept_interval`).
  std::optional<TimeInterval> interval;
};

/// The load of a timed scatter_add (torch-scatter-add: red for fp32, cas for 16 bits).
[[nodiscard]] ScatterLoad load_of(const ContentionPoint& point);

/// Fits the constants of a device to its points that are marked fitted. Linear least squares on relative
/// errors (Eigen) gives launch and issue costs from the uniform points, and the reduction's service from the
/// contended fp32 ones. Least squares on logarithms then gives the CAS service from the contended 16-bit
/// ones. `warps_in_flight` comes from the counters of all devices: sectors at the worst cell are what
/// contenders sent. Other constants are those of `base`.
/// @throws InvalidParameter when a kind of point is missing.
[[nodiscard]] ContentionFit fit_contention(const ContentionProfile& base,
                                           const std::vector<ContentionPoint>& points,
                                           const std::vector<ContentionCounter>& counters);

/// The error on the points of `profile.device`. O(points). @throws as predict_contention.
[[nodiscard]] CalibrationError calibration_error(const ContentionProfile& profile,
                                                 const std::vector<ContentionPoint>& points);

/// The error of this prediction's kind, for a profile that was swept, whose `construct` is another one
/// perhaps. O(1).
[[nodiscard]] CalibrationError calibration_error(const ContentionProfile& profile, const ScatterLoad& load,
                                                 const ContentionPrediction& prediction,
                                                 bool other_construct = false);

}  // namespace natten_sim
