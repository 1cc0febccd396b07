#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"

namespace natten_sim {

namespace {

std::vector<Lowering> parse_lowerings() {
  const std::string where = "data/lowering.json";
  const auto document = parse_strict(embedded::lowering, where, "natten-sim.lowering/1");
  std::vector<Lowering> table;
  for (const auto& entry : StrictObject(document, where, {"schema", "rows"}).array("rows")) {
    const StrictObject row(entry, where,
                           {"construct", "arch", "toolkit", "dtype", "path", "vector_width", "index", "issue",
                            "instruction", "measured", "evidence", "issue_cycles"});
    table.push_back({row.text("construct"), row.text("arch"), row.text("toolkit"),
                     parse_name<Dtype>(row.text("dtype")), parse_name<InstructionPath>(row.text("path")),
                     row.integer("vector_width"), parse_name<IndexLayout>(row.text("index")),
                     parse_name<IssueCost>(row.text("issue")),
                     row.has("issue_cycles") ? std::optional(row.number("issue_cycles")) : std::nullopt,
                     row.text("instruction"), row.text("evidence"),
                     row.boolean("measured")});
    if (table.back().evidence.empty()) row.fail("evidence", "where the row comes from");
  }
  return table;
}

std::vector<OperatorRelease> parse_operators() {
  const std::string where = "data/operators.json";
  const auto document = parse_strict(embedded::operators, where, "natten-sim.operators/1");
  std::vector<OperatorRelease> rows;
  for (const auto& entry : StrictObject(document, where, {"schema", "rows"}).array("rows")) {
    const StrictObject row(entry, where, {"operator", "release", "construct", "source", "condition"});
    rows.push_back({row.text("operator"), row.text("release"),
                    row.has("construct") ? std::optional(row.text("construct")) : std::nullopt,
                    row.text("source"), row.text_or("condition", "")});
  }
  return rows;
}

}  // namespace

const std::vector<OperatorRelease>& builtin_operators() {
  static const std::vector<OperatorRelease> rows = parse_operators();
  return rows;
}

const std::vector<Lowering>& builtin_lowerings() {
  static const std::vector<Lowering> table = parse_lowerings();
  return table;
}

}  // namespace natten_sim
