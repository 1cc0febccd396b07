#pragma once

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// Gives the backends of `catalog` NATTEN's own default tiles, from data/natten-calls.json.
void add_default_tiles(Catalog& catalog);

}  // namespace natten_sim
