#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/lowering.hpp>

namespace natten_sim {
std::vector<std::string> construct_names(const std::vector<Lowering>& table) {
  std::vector<std::string> names;
  for (const Lowering& row : table) {
    if (std::find(names.begin(), names.end(), row.construct) == names.end()) names.push_back(row.construct);
  }
  return names;
}

const Lowering& find_lowering(const std::vector<Lowering>& table, std::string_view construct,
                              std::string_view architecture, Dtype type) {
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
