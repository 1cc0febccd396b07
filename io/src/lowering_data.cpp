
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
                            "instruction", "measured", "evidence"});
    table.push_back({row.text("construct"), row.text("arch"), row.text("toolkit"),
                     parse_name<Dtype>(row.text("dtype")), parse_name<InstructionPath>(row.text("path")),
                     row.integer("vector_width"), parse_name<IndexLayout>(row.text("index")),
                     parse_name<IssueCost>(row.text("issue")), row.text("instruction"), row.text("evidence"),
                     row.boolean("measured")});
    if (table.back().evidence.empty()) row.fail("evidence", "where the row comes from");
  }
  return table;
}

}  // namespace

const std::vector<Lowering>& builtin_lowerings() {
  static const std::vector<Lowering> table = parse_lowerings();
  return table;
}

}  // namespace natten_sim
