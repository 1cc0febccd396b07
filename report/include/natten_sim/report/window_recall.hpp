#pragma once

#include <span>
#include <string>

#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

/// What windows keep of the attention in the file `table`, and the windows that heads should have.
///
///     attention.npy, 60 layers of 24 heads: windows keep
///     window    stride    recall  least of a head
///     18x24x24  16x8x8     83.1%            41.0%

/// A table with a row for each mask.
[[nodiscard]] std::string recalls_text(std::span<const NeighborhoodMask> masks, const study::MaskRecalls& recalls,
                                       const std::string& table);
/// The same of an answer's candidates, which has recalls.
[[nodiscard]] std::string candidate_recalls_text(const study::SearchAnswer& answer);

/// The launches of each layer, the calls of their windows, and what all of them take and keep.
[[nodiscard]] std::string recall_choice_text(const study::SearchAnswer& answer,
                                             const study::Context& context);

/// One launch of a choice, of these heads alone, in one line:
///
///     output[..., 0:3, :] = natten.na3d(query[..., 0:3, :], key[..., 0:3, :], value[..., 0:3, :], kernel_size=..)
[[nodiscard]] std::string launch_python(const study::SearchAnswer& answer, const study::RecallLaunch& launch,
                                        const study::Context& context);
/// All launches of a choice as a Python function of the layer's number and its tensors.
[[nodiscard]] std::string launches_python(const study::SearchAnswer& answer, const study::Context& context);

}  // namespace natten_sim::report
