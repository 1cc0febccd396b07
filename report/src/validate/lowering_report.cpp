#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/described.hpp>
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

struct LoweringsTold {
  const std::vector<LoweringCheck>* checks;
};

}  // namespace

template <typename Members>
void describe(Members& m, Of<LoweringCheck>) {
  using C = LoweringCheck;
  const auto promised = [](auto member) { return path(&C::promised, member); };
  m.put("construct", promised(&Lowering::construct), "How the source adds");
  m.put("arch", promised(&Lowering::architecture), "Architecture");
  m.put("dtype", promised(&Lowering::type), "Element type");
  m.put("path", promised(&Lowering::path), "Kind of instruction that is promised");
  m.put("instruction", promised(&Lowering::instruction), "Instruction that is promised");
  m.put(
      "found_path", [](const C& check) { return std::string(check.path ? to_string(*check.path) : ""); },
      "Kind that was found; empty: none");
  m.put(
      "found", [](const C& check) { return joined(check.found, " "); }, "Instructions that were found");
  m.put("kernel", &C::kernel, "Kernel of this build that has the construct");
  m.put("verdict", &C::verdict, "Whether they agree");
}

template <typename Members>
void describe(Members& m, Of<LoweringsTold>) {
  m.put("lowerings", &LoweringsTold::checks, "Constructs and the instructions that they become");
  m.put(
      "wrong", [](const LoweringsTold& told) { return count_of(*told.checks, LoweringVerdict::kWrong); },
      "Instructions other than promised");
}

Json lowering_checks_json(const std::vector<LoweringCheck>& checks) {
  return json_of(LoweringsTold{&checks});
}

Json lowering_checks_schema() { return schema_of<LoweringsTold>(); }

Rows lowering_checks_rows(const std::vector<LoweringCheck>& checks) {
  return {json_of(LoweringCheck{}), rows_of(checks)};
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
