#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_report.hpp>

namespace natten_sim::report {
namespace {

using validate::LoweringCheck;
using validate::LoweringVerdict;

std::ptrdiff_t count_of(const std::vector<LoweringCheck>& checks, LoweringVerdict verdict) {
  return std::count_if(checks.begin(), checks.end(),
                       [&](const LoweringCheck& each) { return each.verdict == verdict; });
}

Json lowering_row(const LoweringCheck& check) {
  const Lowering& row = check.promised;
  return {{"construct", row.construct},         {"arch", row.architecture},
          {"dtype", to_string(row.type)},       {"path", to_string(row.path)},
          {"instruction", row.instruction},     {"found_path", check.path ? to_string(*check.path) : ""},
          {"found", joined(check.found, " ")},  {"kernel", check.kernel},
          {"verdict", to_string(check.verdict)}};
}

std::vector<Json> lowering_rows(const std::vector<LoweringCheck>& checks) {
  std::vector<Json> rows;
  for (const LoweringCheck& check : checks) rows.push_back(lowering_row(check));
  return rows;
}

}  // namespace

Json lowering_checks_json(const std::vector<LoweringCheck>& checks) {
  return {{"lowerings", lowering_rows(checks)}, {"wrong", count_of(checks, LoweringVerdict::kWrong)}};
}

Rows lowering_checks_rows(const std::vector<LoweringCheck>& checks) {
  return {lowering_row({}), lowering_rows(checks)};
}

std::string lowering_checks_text(const std::vector<LoweringCheck>& checks) {
  std::vector<std::vector<std::string>> table = {
      {"construct", "arch", "dtype", "promised", "found", "verdict"}};
  for (const LoweringCheck& check : checks) {
    if (check.verdict == LoweringVerdict::kNotBuilt) continue;
    table.push_back({check.promised.construct, check.promised.architecture, to_string(check.promised.type),
                     check.promised.instruction, joined(check.found, " "), to_string(check.verdict)});
  }
  return text_table(table, LastColumn::kLeft) +
         fmt::format("\n{} lowerings confirmed, {} wrong, {} of constructs that this build does not have\n",
                     count_of(checks, LoweringVerdict::kConfirmed), count_of(checks, LoweringVerdict::kWrong),
                     count_of(checks, LoweringVerdict::kNotBuilt));
}

}  // namespace natten_sim::report
