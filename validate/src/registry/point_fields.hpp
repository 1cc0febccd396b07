#pragma once

#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim::validate {

/// Parameters of points that several kernels have.

/// "16x8"; of one axis also a number. @throws MalformedData.
[[nodiscard]] Extents read_extents(const StrictObject& fields, const char* key);

/// "1x0", one an axis of `rank`; absent: no axis. @throws MalformedData.
[[nodiscard]] PerAxis<bool> read_causal(const StrictObject& fields, std::size_t rank);

/// 1 on every axis.
[[nodiscard]] Extents ones(std::size_t rank);

}  // namespace natten_sim::validate
