#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::report {

/// One self-contained HTML page: what was measured where, errors of each model, predicted against measured,
/// DRAM reads and throughput as curves, every view that `data` has the recordings for, every row, every miss
/// and its cause.
[[nodiscard]] std::string validation_page(const std::vector<validate::Recording>& recordings,
                                          const validate::Comparison& comparison, const RecordedData& data);

}  // namespace natten_sim::report
