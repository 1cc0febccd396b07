#pragma once

#include <string>
#include <vector>

#include <natten_sim/validate/comparison.hpp>
#include <natten_sim/validate/report.hpp>
#include <natten_sim/validate/runner.hpp>

#include "count_json.hpp"

namespace natten_sim::cli {

/// The `result` of `validate`: rows, groups, throughput, out_of_tolerance, notes.
[[nodiscard]] Json validation_json(const std::vector<validate::Recording>& recordings,
                                   const validate::Comparison& comparison);

enum class RowsText { kNone, kAll };
/// The tables for people; with kAll every comparison too.
[[nodiscard]] std::string validation_text(const std::vector<validate::Recording>& recordings,
                                          const validate::Comparison& comparison,
                                          RowsText rows = RowsText::kNone);

/// One line a comparison.
[[nodiscard]] std::string validation_csv(const validate::Comparison& comparison);

[[nodiscard]] Json suites_json(const std::vector<validate::Suite>& suites);
[[nodiscard]] std::string suites_csv(const std::vector<validate::Suite>& suites);
[[nodiscard]] std::string suites_text(const std::vector<validate::Suite>& suites);

[[nodiscard]] Json checks_json(const std::vector<validate::CheckedPoint>& checks);
[[nodiscard]] std::string checks_csv(const std::vector<validate::CheckedPoint>& checks);
[[nodiscard]] std::string checks_text(const std::vector<validate::CheckedPoint>& checks);

}  // namespace natten_sim::cli
