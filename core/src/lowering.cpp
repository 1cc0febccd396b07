#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/lowering.hpp>

#include "embedded_data.hpp"
#include "strict_object.hpp"

namespace natten_sim {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string to_string(ElementType type) {
  return type == ElementType::kFp32 ? "fp32" : type == ElementType::kFp16 ? "fp16" : "bf16";
}

ElementType element_type(std::string_view name) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16}) {
    if (to_string(type) == name) return type;
  }
  const std::vector<std::string> known = {"fp32", "fp16", "bf16"};
  throw UnknownName("dtype", std::string(name), closest_name(name, known), joined(known));
}

std::string to_string(InstructionPath path) {
  return path == InstructionPath::kRed ? "red" : path == InstructionPath::kAtom ? "atom" : "cas";
}

InstructionPath instruction_path(std::string_view name) {
  for (const InstructionPath path : {InstructionPath::kRed, InstructionPath::kAtom, InstructionPath::kCas}) {
    if (to_string(path) == name) return path;
  }
  const std::vector<std::string> known = {"red", "atom", "cas"};
  throw UnknownName("path", std::string(name), closest_name(name, known), joined(known));
}

std::vector<Lowering> builtin_lowerings() {
  const std::string where = "data/lowering.json";
  const auto document = parse_strict(embedded::lowering, where, "natten-sim.lowering/1");
  std::vector<Lowering> table;
  for (const auto& entry : StrictObject(document, where, {"schema", "rows"}).array("rows")) {
    const StrictObject row(entry, where,
                           {"construct", "arch", "toolkit", "dtype", "path", "vector_width", "instruction",
                            "measured", "evidence"});
    table.push_back({row.text("construct"), row.text("arch"), row.text("toolkit"),
                     element_type(row.text("dtype")), instruction_path(row.text("path")),
                     row.integer("vector_width"), row.text("instruction"), row.text("evidence"),
                     row.boolean("measured")});
    if (table.back().evidence.empty()) row.fail("evidence", "where the row comes from");
  }
  return table;
}

std::vector<std::string> construct_names(const std::vector<Lowering>& table) {
  std::vector<std::string> names;
  for (const Lowering& row : table) {
    if (std::find(names.begin(), names.end(), row.construct) == names.end()) names.push_back(row.construct);
  }
  return names;
}

const Lowering& find_lowering(const std::vector<Lowering>& table, std::string_view construct,
                              std::string_view architecture, ElementType type) {
  std::vector<std::string> others;
  for (const Lowering& row : table) {
    if (row.construct != construct) continue;
    if (row.architecture == architecture && row.type == type) return row;
    others.push_back(row.architecture + " " + to_string(row.type));
  }
  if (others.empty()) {
    const std::vector<std::string> names = construct_names(table);
    throw UnknownName("construct", std::string(construct), closest_name(construct, names), joined(names));
  }
  throw InvalidParameter("construct",
                         std::string(construct) + " for " + std::string(architecture) + " " + to_string(type),
                         "a row of the lowering table; this construct has: " + joined(others));
}

}  // namespace natten_sim
