#pragma once

#include <string>

#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

/// The Python call of NATTEN that runs this configuration:
///
///     natten.na1d(query, key, value, kernel_size=(16,), stride=(8,), ...)
///
/// @throws InvalidParameter for four axes.
[[nodiscard]] std::string natten_call(const NeighborhoodMask& mask, const TileChoice& choice);

}  // namespace natten_sim::report
