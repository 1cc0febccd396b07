#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::report {

/// Pictures of scattered additions, which `msda` has too. `subject` is the second line of the title.

inline constexpr const char* kHistogramDraws = "how many rows receive how many updates";
inline constexpr const char* kRemediesDraw = "the time with each remedy";

/// A logarithmic axis of updates where a row has more than 64.
[[nodiscard]] draw::Picture collision_picture(const CollisionCount& collisions, const std::string& subject);

/// A bar a remedy, fastest first.
[[nodiscard]] draw::Picture remedies_picture(const std::vector<Remedy>& remedies, const std::string& subject);

}  // namespace natten_sim::report
