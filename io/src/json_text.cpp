#include <nlohmann/json.hpp>

#include <natten_sim/io/json_text.hpp>

namespace natten_sim {

std::string json_text(const Json& value, JsonLayout layout) {
  return value.dump(layout == JsonLayout::kIndented ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text) { return Json::parse(text); }

}  // namespace natten_sim
