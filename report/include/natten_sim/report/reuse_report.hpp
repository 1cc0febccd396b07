#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::report {

/// Views of what `reuse` answers.

/// The `result` object: the fields of one result, with `compare` and its reductions; for a sweep, an array.
[[nodiscard]] Json reuse_result(const study::ReuseAnswer& answer);
[[nodiscard]] Json reuse_schema();

/// The problem, then one line for each number; for a sweep, one line for each length.
///
///     attention over 32768   1 head of head dim 64   batch 1   fp16
///     Q tile 80   KV tile 80   persistent schedule   1 workers   closed-form
///
///     order                            cyclic
///     sectors                     107,741,184
[[nodiscard]] std::string reuse_text(const study::ReuseAnswer& answer);

/// A row a length: `input`, which echoes the question, and the result side by side.
[[nodiscard]] Rows reuse_rows(const study::ReuseAnswer& answer, const Json& input);

/// A row a point of the histogram or of the miss curve, for each order.
///
///     order,upto_bytes,count
///     cyclic,32768,12582912
[[nodiscard]] std::string reuse_histogram_csv(const study::ReuseAnswer& answer);
[[nodiscard]] std::string reuse_curve_csv(const study::ReuseAnswer& answer);

/// What is read, for a heading: "attention over 32768", "1 head of head dim 64", ..
[[nodiscard]] std::vector<std::string> reuse_subject(const study::ReuseAnswer& answer);

}  // namespace natten_sim::report
