#pragma once

#include <span>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

/// Time over the context that is kept, the pairs that attend: a line for the front of each device, points for other
/// rows; a dashed line where dense attention is. With a table of a model's own attention also what the first answer's
/// candidates keep of it, where all heads have one window; with a wish of recall alone recall over time where each head,
/// or layer, has a window of its own, with the choice.
/// @throws InvalidParameter naming `svg` for answers that are not by time or have no candidates.
[[nodiscard]] draw::Picture search_picture(std::span<const study::SearchAnswer> answers);

}  // namespace natten_sim::report
