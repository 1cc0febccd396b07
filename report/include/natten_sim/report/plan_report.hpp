#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/plan.hpp>

namespace natten_sim::report {

/// The model's numbers, and `dense` and `sparse`: milliseconds, seconds, dollars and bytes, each time with its bounds.
[[nodiscard]] Json plan_result(const study::PlanAnswer& answer);
[[nodiscard]] Json plan_schema();

/// Two rows, dense and sparse.
[[nodiscard]] Rows plan_rows(const study::PlanAnswer& answer);

/// One screen:
///
///                                                    dense                      sparse
///     attention, a layer             16.1 ms (15.0 .. 17.2)      2.50 ms (2.25 .. 2.75)
///     a step                         1.60 s (1.49 .. 1.71)  ..
[[nodiscard]] std::string plan_text(const study::PlanAnswer& answer);

}  // namespace natten_sim::report
