#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/lowering.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/models/scatter/word_change.hpp>

namespace natten_sim {

/// Number of consecutive updates within which `ScatterLoad::close_updates` counts.
inline constexpr double kCloseBlock = 1024;

/// Rows of `width` elements that are added atomically to rows of a table. One warp lane adds `vector_width`
/// neighbouring elements.
struct ScatterLoad {
  std::int64_t updates = 0;       ///< rows added
  std::int64_t rows_touched = 0;  ///< distinct rows that they go to
  std::int64_t max_multiplicity = 0;
  /// Sum over consecutive stretches of the stream of the largest multiplicity within each. It is what the
  /// address that is hottest at each time serves. At least max_multiplicity; equal to it when one row stays
  /// the hottest.
  std::int64_t serial_multiplicity = 0;
  std::int64_t hottest_rows = 1;  ///< rows that are as hot as the hottest, apart from chance
  double close_updates = 0;       ///< other updates of the same row within 1024 consecutive ones, on average
  /// Sectors of all updates that reach the hottest row's slice of the L2; if absent, those of the hottest row
  /// alone.
  std::optional<double> slice_sectors;
  /// Sectors that warps send in one pass over all updates; if absent, those of rows that begin anywhere.
  std::optional<double> sent_sectors;
  /// Rows that updates visit in strict turn, as `hot:K` does; 0: in no such order.
  std::int64_t turn_rows = 0;
  std::int64_t width = 1;
  Dtype type = Dtype::kFp32;
  InstructionPath path = InstructionPath::kRed;
  std::int64_t vector_width = 1;
  UpdateValues values = UpdateValues::kNormal;
  std::int64_t prior_runs = 0;  ///< equal runs that have added to the destination before this one
  double streamed_bytes = 0;    ///< DRAM bytes for everything but the destination
  std::optional<double>
      warps_in_flight;  ///< warps on the whole device that wait for an atomic; if absent, the profile's
  std::optional<double> resident_warps;  ///< on the whole device; if absent, those at full occupancy
  std::optional<double> issue_ns;  ///< cost of a warp instruction over all SMs; if absent, the profile's
  bool steady_issue = false;       ///< issue_ns holds wherever operands lie: the kernel computes, and does not wait
};

enum class ContentionBound { kHottestAddress, kSliceThroughput, kIssue, kDram, kLaunch };

template <>
struct NamesOf<ContentionBound> {
  static constexpr const char* kConcept = "bound";
  static constexpr Name<ContentionBound> kTable[] = {{ContentionBound::kHottestAddress, "hottest-address"},
                                                     {ContentionBound::kSliceThroughput, "slice-throughput"},
                                                     {ContentionBound::kIssue, "issue"},
                                                     {ContentionBound::kDram, "dram"},
                                                     {ContentionBound::kLaunch, "launch"}};
};

struct ContentionPrediction {
  double time_ns = 0;  ///< launch plus the largest bound
  ContentionBound bound = ContentionBound::kIssue;
  double hottest_address_ns = 0;
  double slice_throughput_ns = 0;
  double issue_ns = 0;
  double dram_ns = 0;
  double launch_ns = 0;
  double host_launch_ns = 0;  ///< part of launch_ns that no operator sees that is queued behind other work
  double service_ns_per_update = 0;  ///< service time of one row update at the hottest address
  double contenders = 0;             ///< warps in flight on the line of the hottest address
  double changing_share = 1;
  bool collapsed = false;         ///< CAS: all warps in flight pile up on one line
  std::int64_t cas_retries = 0;   ///< failed CAS attempts, counted once a word and warp
  std::int64_t atom_sectors = 0;  ///< 32-byte sectors that SMs send; the L2 counts l2_sector_ratio as many
  std::int64_t red_sectors = 0;
  std::int64_t words = 0;  ///< 32-bit words of the touched rows, as if each began on one
  double dram_bytes = 0;
};

/// Closed form; no simulation, O(1). A device that was swept is answered for by `predict_swept`
/// (swept_contention.hpp), others as follows.
///
/// The largest of four bounds decides. *Issue*: warp instructions times what one costs the SMs, or (Little's
/// law) their round trips, retries included, over the resident warps. *Slices*: sectors over the rate at
/// which the L2 reduces. *DRAM*: streamed bytes, and the part of the destination that does not fit the L2.
/// *Hottest address*: a line serves its requests one after the other. A `red` or `atom` takes red_service_ns.
/// With `cas`, every success that changes the word makes the other contenders fail once, so a success costs a
/// pass over all warps that wait for the line:
///
///     T = m * lanes per word * (q + share * (n - q)) * cas_service_ns
///
/// with m the serial multiplicity, q the requests that cover the row's part of the line, n the contenders. If
/// the hottest word keeps up with the stream, that is if m * lanes * share * round_trip_ns is below the other
/// bounds, there is no collapse: a success takes one round trip. With W rows in flight and K equally hot ones
/// that updates visit at random, there is no collapse either if the longest queue is served faster than
/// updates come to it. That queue has W H_K / K rows, with H_K = 1 + 1/2 + .. + 1/K, so the condition is W
/// H_K / K * q * cas_service_ns <= round_trip_ns (1 + (K - 1) / W). Otherwise the queue grows, and since a
/// longer queue serves more slowly, it draws in every warp in flight. On average
///
///     n / q = W (1 - eta W / 2 m)  for m >= eta W,  else  m / (2 eta)
///
/// where eta = 1 accounts for the last W updates, after which no new ones come. With several equally hot rows
/// the warps first have to gather on one of them, and eta = kGatheringLength (found by `run_contention`, see
/// docs/atomics-model.md).
///
/// @throws InvalidParameter naming the field at fault; OverflowError.
[[nodiscard]] ContentionPrediction predict_contention(const ScatterLoad& load,
                                                      const ContentionProfile& profile);

/// How long equally hot rows take to gather all warps on one of them: updates of that row over rows in
/// flight.
inline constexpr double kGatheringLength = 2.8;

/// Elements of one 32-bit word that different lanes update: 2 for scalar 16-bit updates, else 1.
[[nodiscard]] std::int64_t lanes_per_word(const ScatterLoad& load);
/// Warp instructions for all updates, each of 32 lanes.
[[nodiscard]] std::int64_t warp_instructions(const ScatterLoad& load);
/// Warps in flight that contend for one line when all wait for the same row.
[[nodiscard]] double most_contenders(const ScatterLoad& load, const ContentionProfile& profile);
/// Warp requests that cover what one row holds of a line.
[[nodiscard]] std::int64_t requests_per_line(const ScatterLoad& load);

}  // namespace natten_sim
