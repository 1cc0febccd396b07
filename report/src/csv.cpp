
#include <natten_sim/report/csv.hpp>

namespace natten_sim::report {

namespace {

/// Numbers as 8x8x16, flags as 0x0x1, texts as a;b.
std::string list_text(const Json& list) {
  std::string text;
  for (const Json& element : list) {
    if (element.is_string()) {
      text += (text.empty() ? "" : ";") + element.get<std::string>();
    } else {
      text += (text.empty() ? "" : "x") +
              (element.is_boolean() ? std::string(element.get<bool>() ? "1" : "0") : element.dump());
    }
  }
  return text;
}

}  // namespace

std::string csv_cell(const Json& value) {
  std::string text;
  if (value.is_array() || value.is_string()) {
    text = value.is_array() ? list_text(value) : value.get<std::string>();
    // A spreadsheet would run it: names come from files.
    if (text.find_first_of("=+@\t\r") == 0) text = "'" + text;
  } else if (!value.is_null()) {
    text = json_text(value);
  }
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_table(const Json& header, const std::vector<Json>& rows) {
  std::string text;
  const Json columns = flattened(header);
  for (const auto& [column, ignored] : columns.items()) text += (text.empty() ? "" : ",") + column;
  text += "\n";
  for (const Json& row : rows) {
    const Json flat = flattened(row);
    std::string line;
    bool first = true;
    for (const auto& [column, ignored] : columns.items()) {
      line += (first ? "" : ",") + csv_cell(flat.contains(column) ? flat[column] : Json());
      first = false;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace natten_sim::report
