#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>

namespace natten_sim {

/// What a sweep of scatter_adds over widths, rows and distributions showed (docs/atomics-model.md), as a closed
/// form. Requires profile.sweep. O(1).
///
/// *Stream*: the larger of issue (warp instructions) and DRAM: operands, and a row's bytes twice an update,
/// times exp(-reuse_bytes / stream between two updates of the row), the share that has left the L2. Of a
/// stream e = exp(-(stream / warm_bytes)^2) lies in the L2 since the run before: warm_share * e of the DRAM
/// and of a reduction's issue cost nothing, warm_cas_share * e of a compare-and-swap's, and (1 - e) cold_ns
/// is added until the first operands come. A construct that reads one row number a row, not an element,
/// issues its reductions no faster than all slices take them, and its compare-and-swaps as the operator does,
/// wherever operands lie; so does one with `steady_issue`.
///
/// *Reductions* (`red`, `atom`): the hottest row's slice takes sector_ns a sector, of all rows that it holds,
/// whatever the instruction's width; two updates of a sector are same_sector_ns apart, and cut_ns is added
/// where a warp instruction has the end of one update and the beginning of the next, of the same row. Two
/// lanes that add one 16-bit element each, as pairs whose other element is zero, take twice as long on their
/// word. Slice and stream join as the `overlap`-norm of slice and hidden_ns + stream, less hidden_ns: the first
/// reductions are served while the launch is still under way.
///
/// *Compare-and-swap*: sectors that fail are served one by one, cas_sector_ns each, all on the hottest row's
/// slice. How many fail for each success:
///
///     retries = retry_scale * n^retry_exponent * narrow * wide * share^change
///     n = W / K * G^(f^turn_exponent) * f
///     f = p + (1 - p) * (m / (m + g))^gather_exponent / (1 + (w / W p)^waiting_exponent) * threshold
///     g = gather_updates * (256 / lanes a row)^gather_width_exponent * K^gather_rows_exponent
///     threshold = 1 / (1 + (threshold_rows / W p)^threshold_exponent)  for K > 1, else 1
///
/// W rows are in flight on the resident threads, K rows share them. A row that receives m updates, p of all,
/// begins with its share W p of them and gathers the others, if it has enough to begin with: w is
/// waiting_single for K = 1, else waiting_several, and several rows below the threshold hardly gather.
/// G accounts for the end, when no new updates come: threads add kElementsInTurn elements one after the
/// other, each `lanes` successes of its word, so with eta = kElementsInTurn * lanes and x = updates / W,
/// G = 1 - eta / 2x, or x / 2 eta for x < eta. `narrow` and `wide` are powers of the lanes of a warp, and of
/// the KiB of the L2, that a row fills. `share` of the updates change the word. A word's successes are at
/// least success_ns apart, and the hottest slice serves each swap, one that succeeds at once too, in
/// cas_sector_ns. Rows beyond a KiB are served faster by (KiB of the row)^wide_server_exponent, since they lie
/// on several slices; a row that receives every update by (row / sole_bytes)^sole_exponent, up
/// to 1 / sole_server_share, unless it is a power of two of bytes up to kSoleRowBytes. A loop of one's own
/// has loop_rows times the rows in flight.
///
/// @throws as predict_contention.
[[nodiscard]] ContentionPrediction predict_swept(const ScatterLoad& load, const ContentionProfile& profile);

inline constexpr double kElementsInTurn = 4;

/// The kind of scatter whose error is that of this prediction.
[[nodiscard]] ScatterKind kind_of(const ScatterLoad& load, const ContentionPrediction& prediction);

/// Times between which a run is expected. Of a prediction that was held out for: the time, divided and
/// multiplied by the worst ratio of its kind. Rows beyond kServedRowBytes are bimodal on the GPU: all that
/// waits gathers at one slice, or each half KiB is served by one of its own. Their interval has both ends,
/// widened by the kind's mean ratio. More rows than were swept, alone, move only the share of rows that left
/// the L2: from none to all. Otherwise `outside` of what was swept, or for another construct, it reaches from a
/// run in which no update waits for another to one in which all rows in flight wait for the hottest, at one
/// slice, each widened by the worst ratio. nullopt when nothing was held out. O(1).
[[nodiscard]] std::optional<TimeInterval> swept_interval(const ScatterLoad& load,
                                                         const ContentionProfile& profile,
                                                         const ContentionPrediction& prediction,
                                                         const CalibrationError& error);

/// Members of the load that lie outside of what was swept: "width", "updates", "rows". Empty if none does.
[[nodiscard]] std::vector<std::string> outside_sweep(const ScatterLoad& load, const ContentionSweep& sweep);

}  // namespace natten_sim
