#pragma once

#include <natten_sim/report/closing.hpp>

namespace natten_sim::report {

/// Of a window for every head: the answer has a choice.
[[nodiscard]] Closing closing_of_choice(const study::SearchAnswer& answer);

}  // namespace natten_sim::report
