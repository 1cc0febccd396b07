#pragma once

#include <vector>

#include <natten_sim/report/draw/annotation.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::report::pictures {

/// @throws InvalidParameter unless there is `any` point to draw.
void require_points(bool any);

/// Of the one problem of an answer without a sweep: its result, and that of `compare`.
[[nodiscard]] std::vector<const study::ReuseResult*> results_of(const study::ReuseComparison& comparison);

/// Where the capacity lies on an axis of bytes; none where the capacity is not known.
[[nodiscard]] std::vector<draw::Mark> capacity_mark(const study::ReuseAnswer& answer);

}  // namespace natten_sim::report::pictures
