#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::report {

/// One self-contained HTML page. It has the recordings, the errors of each model, predicted against measured
/// values, DRAM reads and throughput as curves, every view that `data` has the recordings for, every row, and
/// every miss with its cause.
[[nodiscard]] std::string validation_page(const std::vector<validate::Recording>& recordings,
                                          const validate::Comparison& comparison, const RecordedData& data);

}  // namespace natten_sim::report
