#pragma once

#include <natten_sim/study/setting.hpp>

#include "keywords.hpp"

namespace natten_sim::python {

// The keywords of a study::Setting, which count, search, time and advise share, in groups: their own keywords
// stand between them.
[[nodiscard]] Keywords<study::Setting> preset_keywords();
[[nodiscard]] Keywords<study::Setting> input_keywords();
[[nodiscard]] Keywords<study::Setting> layout_keywords();  // both, with `device` between them
[[nodiscard]] Keywords<study::Setting> backend_keywords(Echo echo);
[[nodiscard]] Keywords<study::Setting> workload_keywords();

}  // namespace natten_sim::python
