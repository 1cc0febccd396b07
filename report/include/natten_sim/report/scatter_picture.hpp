#pragma once

#include <string>
#include <vector>

#include <natten_sim/study/scatter.hpp>

namespace natten_sim::report {

/// SVG documents. `subject` is the second line of the title.

/// How many rows receive how many updates, on logarithmic axes.
[[nodiscard]] std::string collision_svg(const CollisionCount& collisions, const std::string& subject);

/// A bar a remedy, fastest first.
[[nodiscard]] std::string remedies_svg(const std::vector<Remedy>& remedies, const std::string& subject);

}  // namespace natten_sim::report
