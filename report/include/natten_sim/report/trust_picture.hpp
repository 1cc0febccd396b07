#pragma once

#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/validate/compare/trust.hpp>

namespace natten_sim::report {

/// A row a regime and device: the ends of its interval in the median, and the middle nine tenths of measured over
/// predicted. Requires at least one answer. O(n log n).
[[nodiscard]] draw::Picture trust_picture(const std::vector<validate::JudgedAnswer>& answers);

}  // namespace natten_sim::report
