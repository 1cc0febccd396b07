#pragma once

#include <natten_sim/study/count.hpp>

#include "keywords.hpp"

namespace natten_sim::python {

/// Those of count() that say which tiles are visited: of count_many().
[[nodiscard]] Keywords<study::CountQuestion> many_keywords();

}  // namespace natten_sim::python
