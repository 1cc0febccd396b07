#pragma once

#include <span>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

class JsonMembers;

// Answers of one question; of several devices, each of which names its own.

/// Of several: `devices`, an array with the result of each and its name.
[[nodiscard]] Json search_result(std::span<const study::SearchAnswer> answers, const study::Context& context);
[[nodiscard]] Json search_schema();

/// The same as members of an object.
void write_search_result(std::span<const study::SearchAnswer> answers, const study::Context& context,
                         JsonMembers& members);

/// One row a candidate; only the header where there is none.
[[nodiscard]] Rows search_rows(std::span<const study::SearchAnswer> answers);

/// For people, empty where there is no candidate:
///
///     layout 30x48x80   2,073,600 combinations   best 10 windows by work speedup
///     left out: 1,234 combinations that NATTEN refuses: kernel sizes are 2 or more (--any keeps them)
///
///     window      stride  Q tile  KV tile  sparsity   work  ...
///     18x24x24     1x1x1   8x4x8    4x4x8    91.00%  7.01x  ...
/// With a wish of recall the launches of each layer instead: see window_recall.hpp.
[[nodiscard]] std::string search_text(std::span<const study::SearchAnswer> answers, const study::Context& context);

/// Says why there is no candidate, and which sparsity comes nearest.
[[nodiscard]] std::string nothing_found(const study::SearchAnswer& answer);

}  // namespace natten_sim::report
