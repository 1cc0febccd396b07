#pragma once

#include <natten_sim/report/closing.hpp>

namespace natten_sim::report {

/// The closing of an answer that gives every head its window. Requires `answer.choice`.
[[nodiscard]] Closing closing_of_choice(const study::SearchAnswer& answer);

}  // namespace natten_sim::report
