#pragma once

#include <optional>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// Makespans of published schedules by formula. Empty where no formula is known to hold. An invalid problem
/// throws InvalidParameter. O(cells of the mask).
///
/// n = KV tiles = Q tiles = workers, m = heads, c = compute, r = reduce + tax, unless said otherwise. All
/// tasks cost the same, reductions are serial with their computes, no handoff, no GQA, chains issued head by
/// head. tests/unit/models compares each form with both simulations, and shows that the descending one fails
/// outside its conditions.

/// Full or causal mask: m n (c+r) + (n-1) r, static and dynamic. (DASH 3.2; causal printed as an
/// approximation.)
[[nodiscard]] std::optional<double> ascending_closed_form(const BackwardProblem& problem,
                                                          const BackwardCosts& costs, Dispatch dispatch);

/// Full mask: as ascending, by renaming tiles. Causal: m n (c+r) static, or dynamic with m = 1;
/// m (n+1)(c+r)/2 + (n-1) r dynamic with even m and r <= c. (DASH 3.3, printed without the conditions.)
[[nodiscard]] std::optional<double> descending_closed_form(const BackwardProblem& problem,
                                                           const BackwardCosts& costs, Dispatch dispatch);

/// Full mask: as ascending, by renaming tiles. Causal: m n (c+r) static, or dynamic with m = 1.
[[nodiscard]] std::optional<double> spt_closed_form(const BackwardProblem& problem,
                                                    const BackwardCosts& costs, Dispatch dispatch);

/// Full mask, k KV and q >= k Q tiles, w workers: ceil(m k / w) q (c+r), static. (DASH 3.4, generalised.)
[[nodiscard]] std::optional<double> shift_closed_form(const BackwardProblem& problem,
                                                      const BackwardCosts& costs, Dispatch dispatch);

/// Causal mask, any w and parity: ceil(b / w) (n+1)(c+r) with b = floor(m n / 2) bins of n + 1 tasks; for odd
/// m and n, (n+1)/2 (c+r) more if w divides b. Static. (DASH 3.4, generalised.)
[[nodiscard]] std::optional<double> symmetric_shift_closed_form(const BackwardProblem& problem,
                                                                const BackwardCosts& costs,
                                                                Dispatch dispatch);

/// Full mask: ceil(m k / w) q (c + reduce). (List scheduling of equal chains.)
[[nodiscard]] std::optional<double> unordered_closed_form(const BackwardProblem& problem,
                                                          const BackwardCosts& costs, Dispatch dispatch);

}  // namespace natten_sim
