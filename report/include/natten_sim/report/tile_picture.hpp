#pragma once

#include <string>

#include <natten_sim/core/tiling.hpp>
#include <natten_sim/report/draw/svg.hpp>

namespace natten_sim::report {

/// Which KV tiles a forward pass visits, as study::VisitedTiles has them; `at_q_tile` as there.
///
/// `#` full, `+` partial, `.` skipped. @throws InvalidParameter when the picture is wider than 400 characters
/// or the Q tile does not exist, or for four axes.
[[nodiscard]] std::string tile_ascii(const TilingProblem& problem, const Extents& at_q_tile);

/// @throws as tile_ascii, but for more than 4096 tiles an edge.
[[nodiscard]] draw::Picture tile_picture(const TilingProblem& problem, const Extents& at_q_tile);

}  // namespace natten_sim::report
