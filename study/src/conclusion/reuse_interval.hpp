#pragma once

#include <natten_sim/study/conclusion/reuse.hpp>

namespace natten_sim::study {

/// The interval of an answered question of one length whose answer reads `read_bytes`. None: nothing that is
/// varied matters to the method.
[[nodiscard]] std::optional<ReuseInterval> interval_of(const ReuseQuestion& question, bool schedule_assumed,
                                                       std::int64_t read_bytes, const Context& context);

}  // namespace natten_sim::study
