#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

namespace natten_sim::study {

/// How far a call lies outside of what was timed, as near calls are told from far ones: in doublings of the length.
struct Outside {
  double doublings = 0;
  std::vector<OutsideTimed> of;
};

/// Of the judged times nearest to a call, 9 of 10 lie within this factor of what was predicted.
struct NearbyError {
  double factor = 1;
  std::int64_t points = 0;  ///< 20; more where several are equally near, fewer (9 to 19) where there are no more
};

/// The conformal quantile, at 90%, of the errors of the 20 judged times nearest to `call`, in the same reduction
/// mode. Near are equal classes of masks, orders and heads a KV head, then lengths, then heads. None: fewer than
/// 9 were judged; of fewer than 20 it is the largest error. O(n log n) for n judged times.
[[nodiscard]] std::optional<NearbyError> nearby_error(const std::vector<JudgedTime>& judged, const JudgedTime& call);

/// The same of the throughput that is left when deterministic: of pairs of judged times with one call and two
/// modes. O(n^2).
[[nodiscard]] std::optional<NearbyError> nearby_ratio_error(const std::vector<JudgedTime>& judged,
                                                            const JudgedTime& ordered);

/// The same of times that were left out of a fit: the largest error of both modes. None: fewer than 9.
[[nodiscard]] std::optional<NearbyError> left_out_error(const std::vector<JudgedTime>& left_out);

/// Whether a call of this reduction mode is among them.
[[nodiscard]] bool has_mode(const std::vector<JudgedTime>& timed, const JudgedTime& call);

/// What of a call lies outside of the calls of its mode that were timed. Requires has_mode().
[[nodiscard]] Outside outside_of(const std::vector<JudgedTime>& timed, const JudgedTime& call);

}  // namespace natten_sim::study
