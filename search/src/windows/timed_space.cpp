#include "windows/timed_space.hpp"

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/passes.hpp"

namespace natten_sim {

std::int64_t tiles_along(const SearchSpace& space, Walk walk, const TileChoice& choice, std::size_t axis,
                         std::int64_t options) {
  const AxisTiles sizes = axis_tiles(tiles_of(choice, walk), axis, walk);
  const std::int64_t steps =
      walk == Walk::kForward ? ceil_divide(space.input[axis], sizes.walked) : space.input[axis];
  return options > kMostTimedTiles / steps ? kMostTimedTiles : options * steps;
}

bool few_tiles(const SearchSpace& space, const SearchTables& tables) {
  std::int64_t tiles = 0;
  for (const ChoiceTables& choice : tables.choices) {
    for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
      if (!has_pass(space.phase, walk)) continue;
      for (std::size_t axis = 0; axis < space.input.rank() && tiles < kMostTimedTiles; ++axis)
        tiles += tiles_along(space, walk, space.tiles[choice.tile_choice], axis,
                             static_cast<std::int64_t>(choice.axes[axis]->strides.size()));
    }
  }
  return tiles < kMostTimedTiles;
}

}  // namespace natten_sim
