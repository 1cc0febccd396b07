#pragma once

#include <optional>
#include <span>

#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// The first change that makes natten_fast_path() hold: another KV tile, another Q tile, another pair of both, the
/// nearest stride on one axis, the nearest window within two KV tiles on one axis. `pairs` are the tile pairs that there are. None if
/// it holds already, or if none of these does.
[[nodiscard]] std::optional<FastPathChange> fast_path_change(const TilingProblem& problem,
                                                             std::span<const TilePair> pairs);

}  // namespace natten_sim::study
