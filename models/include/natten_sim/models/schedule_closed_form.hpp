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
/// - ascending, descending, spt; full mask: m n (c+r) + (n-1) r. Static and dynamic. (DASH 3.2; the others by
///   renaming tiles.)
/// - ascending; causal: the same. (DASH 3.2, printed as an approximation.)
/// - descending; causal: m (n+1)(c+r)/2 + (n-1) r. Dynamic, even m, r <= c. (DASH 3.3, printed without the
///   conditions.)
/// - descending, spt; causal: m n (c+r). Static, or dynamic with m = 1.
/// - shift; full, k KV and q >= k Q tiles, w workers: ceil(m k / w) q (c+r). Static. (DASH 3.4, generalised.)
/// - symmetric-shift; causal, any w and parity: ceil(b / w) (n+1)(c+r) with b = floor(m n / 2) bins of n + 1
/// tasks;
///   for odd m and n, (n+1)/2 (c+r) more if w divides b. Static. (DASH 3.4, generalised.)
/// - unordered; full: ceil(m k / w) q (c + reduce). (List scheduling of equal chains.)
///
/// Each is compared with both simulations in tests/property, and the descending form is shown to fail outside
/// its conditions.
[[nodiscard]] std::optional<double> schedule_closed_form(BackwardAlgorithm algorithm,
                                                         const BackwardProblem& problem,
                                                         const BackwardCosts& costs, Dispatch dispatch);

}  // namespace natten_sim
