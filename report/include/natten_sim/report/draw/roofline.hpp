#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// A roofline (Williams et al. 2009): rates over arithmetic intensity, both logarithmic, under bandwidths and
/// peak rates.
///
///     Roofline roofline{.heading = {"Roofline", "deformable-detr backward, H200"},
///                       .bandwidths = {{"DRAM", 4800}}, .peaks = {{"fp32", 67e3}}};
///     roofline.points.push_back({.label = "pixel tiling", .intensity = 1.2, .rate = 3100});
///     std::string svg = render(roofline).svg;
///
/// Bandwidths in GB/s, rates in GFLOP/s (drawn as TFLOP/s where they are large), intensities in FLOP/byte.

struct Bandwidth {
  std::string label;
  double gb_per_s = 0;  ///< positive
};

struct PeakRate {
  std::string label;
  double gflop_per_s = 0;  ///< positive
};

struct RooflinePoint {
  std::string label;     ///< beside the point where there is room; always in its tooltip
  double intensity = 0;  ///< FLOP/byte
  double rate = 0;       ///< GFLOP/s; points that are not positive are left out
  std::string detail{};  ///< a tooltip
};

struct Roofline {
  Heading heading;
  std::vector<Bandwidth> bandwidths;  ///< at least one
  std::vector<PeakRate> peaks;        ///< at least one
  std::vector<RooflinePoint> points;
  std::string intensity_label = "FLOP per byte of DRAM traffic";
  double width = 720;
};

inline constexpr std::size_t kMaxRooflinePoints = 1'000;

/// O(points^2) for the labels. @throws LimitExceeded beyond kMaxRooflinePoints; std::invalid_argument without
/// a bandwidth or a peak, or for one that is not positive and finite.
[[nodiscard]] Picture render(const Roofline& roofline);

}  // namespace natten_sim::draw
