#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

struct Device;

/// Constants that `fit_contention` obtains from timed runs (data/contention.json); tests refit them.
struct ContentionConstants {
  double launch_ns = 0;             ///< what every launch costs
  double issue_red_ns = 0;          ///< a warp-wide reduction, over all SMs
  double issue_cas_ns = 0;          ///< a warp-wide CAS update without contention, over all SMs
  double red_service_ns = 0;        ///< one reduction of one 128-byte line at its L2 slice
  double cas_service_ns = 0;        ///< one CAS request of a warp at one line
  double warps_in_flight = 0;       ///< warps of one SM that wait for an atomic
  double slice_sectors_per_ns = 0;  ///< full sectors that all L2 slices reduce together
};

/// What kind of scatter an error was measured on, by what bounds its predicted time.
enum class ScatterKind {
  kCollapse,      ///< compare-and-swap, and retries bound
  kLongCollapse,  ///< the same with rows beyond kServedRowBytes, which several slices may serve
  kReduction,     ///< red or atom, and the hottest address bounds
  kStream         ///< launch, issue or DRAM bounds
};

template <>
struct NamesOf<ScatterKind> {
  static constexpr const char* kConcept = "kind of scatter";
  static constexpr Name<ScatterKind> kTable[] = {{ScatterKind::kCollapse, "collapse"},
                                                 {ScatterKind::kLongCollapse, "long-collapse"},
                                                 {ScatterKind::kReduction, "reduction"},
                                                 {ScatterKind::kStream, "stream"}};
};

/// Ratios of predicted and timed on points of one kind that no constant was fitted to: whole widths and whole
/// distributions. Tests compute them again from the recording.
struct SweepError {
  ScatterKind kind = ScatterKind::kStream;
  std::int64_t fitted_points = 0, unfitted_points = 0;
  double unfitted_worst_ratio = 1;
  double unfitted_mean_ratio = 1;  ///< geometric mean
};

/// Constants of `predict_swept`, fitted to a sweep of scatter_adds over widths, updates, rows and
/// distributions. What each multiplies stands there.
struct SweepConstants {
  double launch_ns = 0;       ///< an operator that was launched behind other work, until its warps flow
  double cas_launch_ns = 0;   ///< what a compare-and-swap adds: another round trip
  double host_launch_ns = 0;  ///< what the host takes to launch on an idle GPU
  double issue_red_ns = 0, issue_cas_ns = 0;  ///< a warp instruction, over all SMs
  double dram_bytes_per_ns = 0;               ///< reached beside scattered rows
  double reuse_bytes = 0;                     ///< stream between two updates of a row that the L2 survives
  double warm_share = 0, warm_bytes = 0;      ///< of a stream that lies in the L2 since the run before
  double warm_cas_share = 0;                  ///< the same of what a compare-and-swap issues
  double cold_ns = 0;                         ///< until the first operands come from DRAM
  double hidden_ns = 0;                       ///< of the launch, while reductions are served already
  double sector_ns = 0;                       ///< one sector of a reduction at its slice
  double same_sector_ns = 0;                  ///< two reductions of the same sector, at least so far apart
  double cut_ns = 0;                          ///< a warp instruction with two pieces of the same row
  double overlap = 1;                         ///< exponent of the norm that joins slice and stream
  double cas_sector_ns = 0;                   ///< one sector of a retried compare-and-swap
  double success_ns = 0;                      ///< two successes on a word, at least so far apart
  double retry_scale = 0, retry_exponent = 0;
  double gather_updates = 0, gather_exponent = 0, gather_width_exponent = 0, gather_rows_exponent = 0;
  double waiting_single = 0, waiting_several = 0, waiting_exponent = 0;  ///< rows that begin to gather
  double threshold_rows = 0, threshold_exponent = 1;  ///< of several hot rows, below which none gathers
  double turn_exponent = 0;
  double narrow_exponent = 0, wide_exponent = 0, wide_server_exponent = 0;
  double sole_bytes = 0, sole_exponent = 0, sole_server_share = 1;  ///< of a row that receives every update
  double change_exponent = 0, change_narrow_exponent = 0;
};

/// What the remedies of `compare_remedies` cost on a device whose own kernels were timed: constants fitted to
/// the suite `remedies` (scripts/fit_remedies.py). What each multiplies stands there.
struct RemedyCosts {
  double launch_ns = 0;  ///< a kernel that follows another one of the same remedy
  double half_bytes_per_ns = 0, fp32_bytes_per_ns = 0;  ///< zeroing and adding up copies
  double sort_ns = 0, sort_update_ns = 0;               ///< launches of a sort, and one row number of it
  double sum_ns = 0;                                    ///< 32 neighbouring elements of one sorted update
  double write_ns = 0;                                  ///< 32 neighbouring elements of a row that is written
  double join_ns = 0;    ///< 64 updates of the hottest row, which one thread joins
  double loop_rows = 1;  ///< rows that wait in a loop of one's own, over those of the swept operator
};

/// How far predictions of a remedy were off, which were frozen before its runs were timed. Ratios are the
/// larger of predicted / timed and its inverse.
struct BlindScore {
  std::string device;
  std::int64_t points = 0;
  double median_ratio = 1, mean_ratio = 1;         ///< the mean is geometric
  double interval_ratio = 1, worst_ratio = 1;      ///< nine of ten lie within interval_ratio
};

/// Rows up to here are served by one slice of the L2 at a time.
inline constexpr std::int64_t kServedRowBytes = 1024;

/// A row that receives every update gathers at one slice up to here if its length is a power of two.
inline constexpr std::int64_t kSoleRowBytes = 2048;

/// Widths, updates and rows that the sweep covered.
struct SweepRange {
  std::int64_t least_width = 0, most_width = 0;
  std::int64_t least_updates = 0, most_updates = 0;
  std::int64_t most_rows = 0;
};

struct ContentionSweep {
  std::string construct;  ///< the operator that was swept
  SweepConstants constants;
  SweepRange range;
  std::vector<SweepError> errors;  ///< one a kind
  std::optional<RemedyCosts> remedies;
};

/// What the catalog knows about a device's atomics, besides its SMs, clock, L2 and DRAM.
struct DeviceAtomics {
  double fp32_flops_per_s = 0;
  double warps_per_sm = 0;       ///< resident warps at full occupancy
  double round_trip_cycles = 0;  ///< an L2 atomic seen from an SM
  double l2_sector_ratio = 1;    ///< sectors that the L2 counts for each one that an SM sends
  double bare_instructions = 0;  ///< instructions of a warp-wide update in a user's kernel; not measured
  ContentionConstants fitted;
  std::optional<ContentionSweep> sweep;  ///< of devices that were swept
};

/// What contention models need to know about a device.
struct ContentionProfile : ContentionConstants {
  std::string device;
  std::int64_t sms = 0;
  double dram_bytes_per_ns = 0;
  double fp32_flops_per_ns = 0;
  double l2_bytes = 0;         ///< capacity available to scattered data: that of one partition
  double warps_per_sm = 0;     ///< resident warps at full occupancy
  double round_trip_ns = 0;    ///< an L2 atomic seen from an idle SM
  double cycle_ns = 0;         ///< a cycle of an SM, over all SMs
  double issue_bare_ns = 0;    ///< a warp-wide update in a user's kernel, over all SMs; not measured
  double l2_sector_ratio = 1;  ///< sectors that the L2 counts for each one that an SM sends
  std::optional<ContentionSweep> sweep;  ///< if there, `predict_contention` rests on it
};

/// What the catalog lacks to make a profile of `device`; empty if it lacks nothing.
[[nodiscard]] std::vector<std::string> missing_for_contention(const Device& device);

/// @throws InvalidParameter naming the device and what is missing.
[[nodiscard]] ContentionProfile contention_profile(const Device& device);

/// Lines and sectors of the L2 of every modelled device.
inline constexpr std::int64_t kLineBytes = 128;
inline constexpr std::int64_t kSectorBytes = 32;
inline constexpr std::int64_t kWarpLanes = 32;

/// A timed scatter_add of `updates` rows of `width` elements into `rows` rows, published or measured.
struct ContentionPoint {
  std::string device;
  std::string source;
  std::int64_t updates = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  IndexDistribution distribution;
  Dtype type = Dtype::kFp32;
  IndexLayout index = IndexLayout::kRow;
  std::int64_t max_multiplicity = 0;
  double time_ns = 0;
  std::int64_t prior_runs = 0;  ///< runs that had added to the destination before the timed one
  bool fitted = false;
};

/// Sectors that a counter saw at the worst cell. `warps_in_flight` is fitted to them.
struct ContentionCounter {
  std::string device;
  std::string source;
  std::int64_t sms = 0;  ///< of the device
  std::int64_t updates = 0, width = 0, max_multiplicity = 0;
  Dtype type = Dtype::kFp32;
  double atom_sectors = 0;
};

/// What pre-reduction in software costs an updated element on one device (data/contention.json): measured
/// slowdowns over the plain atomic, of which the atomics themselves are a small part.
struct PreReductionCosts {
  std::string device;   ///< name in the catalog
  double warp_ns = 0;   ///< shuffles among 32 updates
  double block_ns = 0;  ///< a shared-memory table among 256 updates
  double sort_ns = 0;   ///< sort by row, then a segmented sum: every row is written once
};

/// The same on another device, by SMs times clock. @throws InvalidParameter when a device lacks either.
[[nodiscard]] PreReductionCosts scaled_costs(const PreReductionCosts& costs, const Device& from,
                                             const Device& to);

}  // namespace natten_sim
