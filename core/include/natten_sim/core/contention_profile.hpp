#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natten_sim {

/// What contention models need to know about a device (data/contention.json). The fitted constants were
/// obtained by `fit_contention` from the points of the same file that are marked as fitted; tests refit them.
struct ContentionProfile {
  std::string device;
  std::int64_t sms = 0;
  double dram_bytes_per_ns = 0;
  double fp32_flops_per_ns = 0;
  double l2_bytes = 0;         ///< capacity that scattered data find
  double warps_per_sm = 0;     ///< resident warps at full occupancy
  double round_trip_ns = 0;    ///< an L2 atomic seen from an idle SM
  double issue_bare_ns = 0;    ///< a warp-wide update in a kernel of one's own, over all SMs; not measured
  double l2_sector_ratio = 1;  ///< sectors that the L2 counts for each one that an SM sends

  // Fitted.
  double launch_ns = 0;             ///< what every launch costs
  double issue_red_ns = 0;          ///< a warp-wide reduction, over all SMs
  double issue_cas_ns = 0;          ///< a warp-wide CAS update without contention, over all SMs
  double red_service_ns = 0;        ///< one reduction of one 128-byte line at its L2 slice
  double cas_service_ns = 0;        ///< one CAS request of a warp at one line
  double warps_in_flight = 0;       ///< of one SM, that wait for an atomic
  double slice_sectors_per_ns = 0;  ///< full sectors that all L2 slices reduce together
};

/// Lines and sectors of the L2 of every modelled device.
inline constexpr std::int64_t kLineBytes = 128;
inline constexpr std::int64_t kSectorBytes = 32;
inline constexpr std::int64_t kWarpLanes = 32;

/// @throws UnknownName for a device without a profile, naming those that have one.
[[nodiscard]] ContentionProfile contention_profile(std::string_view device);
[[nodiscard]] std::vector<std::string> contention_devices();

/// A timed scatter_add of `updates` rows of `width` elements into `rows` rows, published or measured.
struct ContentionPoint {
  std::string device;
  std::string source;
  std::int64_t updates = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::string distribution;  ///< uniform, or zipf:S
  std::string type;          ///< fp32, fp16, bf16
  std::int64_t max_multiplicity = 0;
  double time_ns = 0;
  std::int64_t prior_runs = 0;  ///< runs that had added to the destination before the timed one
  bool fitted = false;
};

[[nodiscard]] std::vector<ContentionPoint> contention_points();

/// Sectors that a counter saw at the worst cell; what `warps_in_flight` is fitted on.
struct ContentionCounter {
  std::string device;
  std::string source;
  std::int64_t updates = 0, width = 0, max_multiplicity = 0;
  std::string type;
  double atom_sectors = 0;
};
[[nodiscard]] std::vector<ContentionCounter> contention_counters();

/// What pre-reduction in software costs an updated element on one device (data/contention.json): measured
/// slowdowns over the plain atomic, of which the atomics themselves are a small part. Other devices are
/// scaled by SMs times clock.
struct PreReductionCosts {
  double warp_ns = 0;   ///< shuffles among 32 updates
  double block_ns = 0;  ///< a shared-memory table among 256 updates
  double sort_ns = 0;   ///< sort by row, then a segmented sum: every row is written once
};
[[nodiscard]] PreReductionCosts pre_reduction_costs(std::string_view device);

/// Every table of the MSDA paper (data/msda-paper.json), as JSON.
[[nodiscard]] std::string_view published_msda_figures();

}  // namespace natten_sim
