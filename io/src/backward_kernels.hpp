#pragma once

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// The kernels of data/backward-kernels/.
void add_backward_kernels(Catalog& catalog);

}  // namespace natten_sim
