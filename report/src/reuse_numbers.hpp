#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/study/reuse.hpp>

namespace natten_sim::report {

/// The order that was walked, or "trace".
[[nodiscard]] std::string walked_order(const study::ReuseResult& result);

/// Misses beyond the first touch of every sector.
[[nodiscard]] std::optional<std::int64_t> noncompulsory(const study::ReuseResult& result);

/// Share by which `second` is below `first`.
[[nodiscard]] std::optional<double> reduction(const std::optional<std::int64_t>& first,
                                              const std::optional<std::int64_t>& second);

/// The sweep that the question asks for, or null.
[[nodiscard]] const study::SeqlenSweep* sweep_of(const study::ReuseAnswer& answer);

}  // namespace natten_sim::report
