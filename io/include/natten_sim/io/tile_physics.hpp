#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/tile_physics.hpp>

namespace natten_sim {

/// data/tile-physics.json, or a file like it. @throws MalformedData naming `where`.
[[nodiscard]] TilePhysics parse_tile_physics(std::string_view json, const std::string& where);

}  // namespace natten_sim
