#pragma once

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// Adds the releases of data/natten with the tiles of the catalog's backends, which get the newest release's
/// default tiles.
void add_natten_releases(Catalog& catalog);

}  // namespace natten_sim
