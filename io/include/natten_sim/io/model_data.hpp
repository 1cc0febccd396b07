#pragma once

#include <vector>

#include <natten_sim/core/model_shape.hpp>

namespace natten_sim {

/// data/model-shapes.json: one shape a preset.
[[nodiscard]] ModelShapes model_shapes();

/// data/links.json: of the devices whose links are known.
[[nodiscard]] std::vector<Link> links();

}  // namespace natten_sim
