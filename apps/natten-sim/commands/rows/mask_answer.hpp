#pragma once

#include <natten_sim/study/mask.hpp>

#include "cli/output.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {

/// Answers the question as `natten-sim mask` does, for `count --mask` too. Returns the exit code.
int answer_mask(const study::MaskQuestion& question, const study::Context& context, const OutputFlags& output,
                Reply& reply);

}  // namespace natten_sim::cli
