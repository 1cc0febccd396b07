#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

[[nodiscard]] Json search_result(const study::SearchAnswer& answer);

/// One row a candidate; only the header where there is none.
[[nodiscard]] std::string search_csv(const study::SearchAnswer& answer);

/// For people, empty where there is no candidate:
///
///     layout 30x48x80   2,073,600 combinations   best 10 by work speedup
///
///     window      stride  Q tile  KV tile  sparsity   work  ...
///     18x24x24     1x1x1   8x4x8    4x4x8    91.00%  7.01x  ...
[[nodiscard]] std::string search_text(const study::SearchAnswer& answer);

/// Says why there is no candidate, and which sparsity comes nearest.
[[nodiscard]] std::string nothing_found(const study::SearchAnswer& answer);

}  // namespace natten_sim::report
