#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/validate/compare/trust.hpp>

namespace natten_sim::report {

/// How many measured answers lie in their intervals: a table, one row a regime and device, and the sum of all.
[[nodiscard]] std::string trust_text(const std::vector<validate::JudgedAnswer>& answers);

/// Every answer with its interval and what was measured, in milliseconds; those outside first.
[[nodiscard]] std::string judged_answers_text(std::vector<validate::JudgedAnswer> answers);

/// The `result` of `trust`: its `regimes`, and the `answers` if wished.
[[nodiscard]] Json trust_fields(const std::vector<validate::JudgedAnswer>& answers, bool with_answers);
[[nodiscard]] Json trust_schema();

/// Lines of CSV: a regime each, or an answer each.
[[nodiscard]] std::vector<Json> trust_rows(const std::vector<validate::JudgedAnswer>& answers);
[[nodiscard]] std::vector<Json> judged_answer_rows(const std::vector<validate::JudgedAnswer>& answers);

}  // namespace natten_sim::report
