#pragma once

#include <vector>

#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// First results of questions of one length, which the threads of `context` share. Progress is the share of
/// them that is answered.
[[nodiscard]] std::vector<ReuseResult> ask_each(const std::vector<ReuseQuestion>& questions,
                                                const Context& context);

}  // namespace natten_sim::study
