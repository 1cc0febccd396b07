#pragma once

#include <optional>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// Makespan of a named algorithm by formula, where one is known to hold; none elsewhere.
///
/// n = KV tiles = Q tiles = workers, m = heads, c = compute, r = reduce + tax, unless said otherwise. All
/// tasks cost the same, reductions are serial with their computes, no handoff, no GQA, chains issued head by
/// head.
///
/// | algorithm | mask | makespan | holds for | source |
/// |---|---|---|---|---|
/// | ascending, descending, spt | full | m n (c+r) + (n-1) r | static and dynamic | DASH 3.2; the others by
/// renaming tiles | | ascending | causal | m n (c+r) + (n-1) r | static and dynamic | DASH 3.2 (printed as an
/// approximation) | | descending | causal | m (n+1)(c+r)/2 + (n-1) r | dynamic, even m, r <= c | DASH 3.3
/// (printed without the conditions) | | descending | causal | m n (c+r) | static, or dynamic with m = 1 |
/// simulation | | spt | causal | m n (c+r) | static, or dynamic with m = 1 | depth of (KV j, Q i) is i - j:
/// Lemma 1 | | shift | full | ceil(m k / w) q (c+r) | static, q >= k Q and KV tiles, w workers | DASH 3.4,
/// generalised | | symmetric-shift | causal, q = k | see `symmetric_shift_makespan` | static, any w, any
/// parity | DASH 3.4, generalised | | unordered | full | ceil(m k / w) q (c + reduce) | any | list scheduling
/// of equal chains |
///
/// Each is compared with both simulations in tests/property, and the descending form is shown to fail outside
/// its conditions.
[[nodiscard]] std::optional<double> schedule_closed_form(BackwardAlgorithm algorithm,
                                                         const BackwardProblem& problem,
                                                         const BackwardCosts& costs, Dispatch dispatch);

}  // namespace natten_sim
