#include "schedule_keywords.hpp"

#include <algorithm>
#include <filesystem>

#include <natten_sim/io/schedule_costs.hpp>

#include "described.hpp"
#include "schedule_values.hpp"
#include "text_file.hpp"

namespace natten_sim::python {
namespace {

using study::ScheduleParts;

Keywords<AskedSchedule> table_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  rows.add("table", &F::table,
           "Check and run this schedule instead of an algorithm's: what table() returns, its JSON, or a file "
           "[none]",
           Echo::kNever);
  rows.keep_company("table", {.rules_out = study::ruled_out_by_table()});
  rows.add("critical_path", &F::critical_path, "Add the critical path [default]", Echo::kNever);
  return rows;
}

}  // namespace

Keywords<AskedSchedule> schedule_keywords() {
  Keywords<AskedSchedule> rows;
  rows.include(keywords_of<ScheduleParts>(), &AskedSchedule::parts);
  return rows.include(table_keywords());
}

Json schedule_echo(const AskedSchedule& asked, const study::ScheduleAnswer& answer) {
  const ScheduleParts full = study::parts_of(asked.parts, answer);
  KeywordMembers<ScheduleParts> members;
  study::describe_answered(members, full, asked.table.has_value());
  Json input = std::move(members).keywords().echo(full);
  if (asked.table) input["table"] = "table";
  return input;
}

Json kernel_schedule_echo(const AskedSchedule& asked, const study::KernelScheduleAnswer& answer) {
  const ScheduleParts full = study::parts_of(asked.parts, answer);
  KeywordMembers<ScheduleParts> members;
  study::describe_answered_kernel(members, full);
  return std::move(members).keywords().echo(full);
}

Json schedule_input_schema() {
  const std::vector<std::string> null = {"dispatch", "launch_order", "effort", "heads_in_flight"};
  KeywordMembers<ScheduleParts> algorithm, kernel;
  study::describe_answered(algorithm, {}, false);
  study::describe_answered_kernel(kernel, {});
  Json schema = report::one_of(
      {std::move(algorithm).keywords().echo_schema(null), std::move(kernel).keywords().echo_schema({})});
  schema["properties"]["table"] = report::schema_of<std::string>();
  return schema;
}

std::optional<study::Context> with_costs(AskedSchedule& asked, const study::Context& context) {
  std::optional<std::string>& name = asked.parts.question.named_costs;
  const auto is_its = [&](const ScheduleCostSet& set) { return set.name == *name; };
  const auto& shipped = context.catalog.schedule_costs;
  std::error_code unreadable;
  if (!name || std::any_of(shipped.begin(), shipped.end(), is_its) ||
      !std::filesystem::exists(*name, unreadable))
    return std::nullopt;  // an unknown name: the catalog says which there are
  study::Context copy = context;
  add_schedule_costs(copy.catalog, read_text_file("costs", *name), "costs file " + *name);
  name = copy.catalog.schedule_costs.front().name;
  return copy;
}

}  // namespace natten_sim::python
