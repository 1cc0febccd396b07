#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/tile_physics.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim {

/// data/tile-physics.json, or a file like it. @throws MalformedData naming `where`.
[[nodiscard]] TilePhysics parse_tile_physics(std::string_view json, const std::string& where);

/// What of `physics` is fitted, as the file has it: `constants`, `factors` and `transfers`, to four digits.
[[nodiscard]] Json fitted_json(const TilePhysics& physics);

}  // namespace natten_sim
