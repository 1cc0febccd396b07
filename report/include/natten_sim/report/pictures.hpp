#pragma once

#include <vector>

#include <natten_sim/report/picture_kind.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/explain.hpp>
#include <natten_sim/study/mask.hpp>
#include <natten_sim/study/msda.hpp>
#include <natten_sim/study/plan.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

/// What can be drawn of the answers of study/, for the program and for Python. A picture with more to say than its
/// answer has a header of its own: tile_picture.hpp, schedule_picture.hpp, reuse_picture.hpp.

/// `front`: the context that is kept over time, for each device, with dense attention and what is kept of a recorded
/// attention. `candidates`: a bar for each, in milliseconds, or the speedup by multiplied pairs.
[[nodiscard]] const PictureKinds<std::vector<study::SearchAnswer>>& search_pictures();
/// `front` and `choices`, likewise.
[[nodiscard]] const PictureKinds<study::AdviseAnswer>& advise_pictures();
/// `tiles`: which blocks are visited. `blocks`: time or visited share for each size of blocks.
[[nodiscard]] const PictureKinds<study::MaskAnswer>& mask_pictures();
/// `step`: what takes the time of a step, dense and sparse.
[[nodiscard]] const PictureKinds<study::PlanAnswer>& plan_pictures();
/// `runs`: predicted against measured milliseconds, a colour for each kernel and pass.
[[nodiscard]] const PictureKinds<study::CalibrateAnswer>& calibrate_pictures();
/// `reads`: DRAM reads of each kernel, measured and predicted, part by part.
[[nodiscard]] const PictureKinds<study::ExplainAnswer>& explain_pictures();
/// `histogram`: how many rows receive how many updates. `remedies`: the time with each.
[[nodiscard]] const PictureKinds<study::ScatterAnswer>& scatter_pictures();
/// `roofline`: the pass under the device's roofline; `histogram` and `remedies` of a backward pass.
[[nodiscard]] const PictureKinds<study::MsdaAnswer>& msda_pictures();

}  // namespace natten_sim::report
