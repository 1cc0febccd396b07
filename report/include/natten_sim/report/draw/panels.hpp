#pragma once

#include <span>

#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Pictures in rows, so many beside each other, as one picture: small multiples.
///
///     std::vector<Picture> plots = {render(misses), render(throughput)};
///     std::string svg = beside(plots, 2, {.title = "Cyclic and sawtooth walks"}).svg;
///
/// Columns are as wide and rows as high as their largest picture. O(bytes).
/// @throws std::invalid_argument without a picture or with fewer than one column.
[[nodiscard]] Picture beside(std::span<const Picture> pictures, int columns, const Heading& heading = {});

}  // namespace natten_sim::draw
