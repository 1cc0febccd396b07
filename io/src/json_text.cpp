#include <nlohmann/json.hpp>

#include <natten_sim/io/json_text.hpp>

namespace natten_sim {
namespace {

void append(const Json& value, bool indented, int depth, std::string& text) {
  if (value.is_binary()) {
    text.append(value.get_binary().begin(), value.get_binary().end());
    return;
  }
  if (!value.is_structured() || value.empty()) {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const auto line = [&](int level) {
    if (indented) text += "\n" + std::string(2 * static_cast<std::size_t>(level), ' ');
  };
  const bool object = value.is_object();
  text += object ? '{' : '[';
  bool first = true;
  for (auto element = value.begin(); element != value.end(); ++element) {
    if (!first) text += ',';
    first = false;
    line(depth + 1);
    if (object) {
      text += Json(element.key()).dump(-1, ' ', false, Json::error_handler_t::replace);
      text += indented ? ": " : ":";
    }
    append(*element, indented, depth + 1, text);
  }
  line(depth);
  text += object ? '}' : ']';
}

}  // namespace

std::string json_text(const Json& value, JsonLayout layout) {
  std::string text;
  append(value, layout == JsonLayout::kIndented, 0, text);
  return text;
}

Json parse_json(std::string_view text) { return Json::parse(text); }

}  // namespace natten_sim
