#pragma once

#include <span>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/recall.hpp>

namespace natten_sim::report {

/// Time over the context that is kept, the pairs that attend: a line for the front of each device, points for other
/// rows; a dashed line where dense attention is. With `recalls` (of the only answer) also what the candidates keep of a
/// model's own attention, where all heads have one window.
/// @throws InvalidParameter naming `svg` for answers that are not by time or have no candidates.
[[nodiscard]] draw::Picture search_picture(std::span<const study::SearchAnswer> answers,
                                           const study::MaskRecalls* recalls = nullptr);

/// Recall over time where each head, or layer, has a window of its own, with the choice.
[[nodiscard]] draw::Picture recall_picture(const study::RecallChoice& choice);

}  // namespace natten_sim::report
