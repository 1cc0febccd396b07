#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::report {

/// Pictures. `subject` is the second line of the title.

/// How many rows receive how many updates, on logarithmic axes.
[[nodiscard]] draw::Picture collision_picture(const CollisionCount& collisions, const std::string& subject);

/// A bar a remedy, fastest first.
[[nodiscard]] draw::Picture remedies_picture(const std::vector<Remedy>& remedies, const std::string& subject);

}  // namespace natten_sim::report
