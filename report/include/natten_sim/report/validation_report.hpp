#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/frozen.hpp>
#include <natten_sim/validate/measure/runner.hpp>
#include <natten_sim/validate/sass/lowering_check.hpp>

namespace natten_sim::report {

/// What `validate` prints: comparisons of predictions with measurements, suites, checks of kernels.
///
///     Absolute deviation of predicted from measured
///     group                    suite   counter          fitted  points    mean  median     p95   worst
///     all: lockstep LRU, ..    reuse   dram_read_bytes  no          93  5.203%  1.871%  ..

/// The `result` of `validate`: rows, groups, throughput, scores, how many rows have
/// which verdict, notes.
[[nodiscard]] Json validation_json(const std::vector<validate::Recording>& recordings,
                                   const validate::Comparison& comparison);
[[nodiscard]] Json validation_schema();
/// Of all that `validate` answers: comparisons, suites, predictions, views, checks and profiles of devices.
[[nodiscard]] Json validate_schema();

enum class RowsText { kNone, kAll };
/// The tables for people; with kAll every comparison too.
[[nodiscard]] std::string validation_text(const std::vector<validate::Recording>& recordings,
                                          const validate::Comparison& comparison,
                                          RowsText rows = RowsText::kNone);

/// Whether there is a table of throughput in that text, which needs no prediction.
[[nodiscard]] bool has_throughput_table(const std::vector<validate::Recording>& recordings);

/// How many comparisons were within their tolerances, excused, outside, scored and not judged, in one line.
[[nodiscard]] std::string verdict_text(const validate::Comparison& comparison);

/// One line a comparison.
[[nodiscard]] Rows validation_rows(const validate::Comparison& comparison);

[[nodiscard]] Json suites_json(const std::vector<validate::Suite>& suites);
[[nodiscard]] Json suites_schema();
[[nodiscard]] Rows suites_rows(const std::vector<validate::Suite>& suites);
[[nodiscard]] std::string suites_text(const std::vector<validate::Suite>& suites);

[[nodiscard]] Json frozen_json(const validate::FrozenPredictions& frozen);
[[nodiscard]] Json frozen_schema();
[[nodiscard]] Rows frozen_rows(const validate::FrozenPredictions& frozen);
/// point                          counter         predicted  low    high
/// natten fa2 forward b1 h3 ..    launch_time_ns  10780      9051   12509
[[nodiscard]] std::string frozen_text(const validate::FrozenPredictions& frozen);

[[nodiscard]] Json checks_json(const std::vector<validate::CheckedPoint>& checks);
[[nodiscard]] Json checks_schema();
[[nodiscard]] Rows checks_rows(const std::vector<validate::CheckedPoint>& checks);
[[nodiscard]] std::string checks_text(const std::vector<validate::CheckedPoint>& checks);

[[nodiscard]] Json lowering_checks_json(const std::vector<validate::LoweringCheck>& checks);
[[nodiscard]] Json lowering_checks_schema();
[[nodiscard]] Rows lowering_checks_rows(const std::vector<validate::LoweringCheck>& checks);
/// construct                arch  dtype  promised                  found                     verdict
/// cuda-atomicadd-bfloat16  sm90  bf16   ATOM.E.CAS.STRONG.GPU     ATOM.E.CAS.STRONG.GPU     confirmed
[[nodiscard]] std::string lowering_checks_text(const std::vector<validate::LoweringCheck>& checks);

}  // namespace natten_sim::report
