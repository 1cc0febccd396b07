#pragma once

#include <cstdint>
#include <vector>

namespace natten_sim {

/// Chains of one length.
struct ChainCount {
  std::int64_t length = 0;  ///< 1 or more
  std::int64_t count = 0;
};

/// Bin packing as a bound: a chain stays on one worker, so the busiest worker holds whole chains.
///
/// A time T that no worker may exceed is refuted when the linear relaxation of cutting stock (Gilmore and
/// Gomory 1961, by column generation) needs more workers than there are. Every bound in it is a dual
/// solution that Farley's rule (1990) scales until each way to fill a worker satisfies it, so rounding
/// errors can weaken the answer but not make it wrong.
///
/// Returns the least T, `least` or more, that is not refuted: a lower bound on the time of the busiest
/// worker. It is often exact when the lengths are few. `least` is returned as it is when the problem is too
/// large to be worth the time (distinct lengths times T in units of their greatest common divisor above
/// kMaxPackingCells).
/// O(log T) linear programs, each of some hundred steps of lengths * T.
[[nodiscard]] std::int64_t packing_bound(const std::vector<ChainCount>& chains, std::int64_t workers,
                                         std::int64_t least);

inline constexpr std::int64_t kMaxPackingCells = 1 << 16;

}  // namespace natten_sim
