#pragma once

#include <vector>

namespace natten_sim {

/// Unknowns x that minimise the sum of ((row x - target) / target)^2, by Householder QR (Eigen).
/// @throws InvalidParameter naming `what` when there are fewer rows than unknowns.
[[nodiscard]] std::vector<double> linear_fit(const std::vector<std::vector<double>>& rows,
                                             const std::vector<double>& targets, const char* what);

}  // namespace natten_sim
