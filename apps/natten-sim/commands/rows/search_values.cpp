#include "commands/rows/search_values.hpp"

#include <sstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::cli {

using TileChoices = std::vector<TileChoice>;
using study::DeviceNames;

TileChoices OptionValue<TileChoices>::from_words(const std::string& name, const std::vector<std::string>&,
                                                 const About&) {
  throw InvalidParameter(name, "given in words", "JSON");
}

TileChoices OptionValue<TileChoices>::from_json(const std::string& name, const Json& value,
                                                const About& about) {
  const char* accepted =
      "an array of {\"q_tile\", \"kv_tile\", \"backward_q_tile\", \"backward_kv_tile\", \"backend\"}, with "
      "the "
      "shapes of one pass or both";
  if (!value.is_array()) throw InvalidParameter(name, value.dump(), accepted);
  TileChoices choices;
  for (const Json& element : value) {
    const auto has = [&](const char* member) { return element.contains(member); };
    const bool forward = element.is_object() && has("q_tile") && has("kv_tile");
    const bool backward = element.is_object() && has("backward_q_tile") && has("backward_kv_tile");
    if (!forward && !backward) throw InvalidParameter(name, element.dump(), accepted);
    TileChoice choice;
    const auto read = [&](const char* member, Extents& shape) {
      if (has(member)) read_value(member, element[member], about, shape);
    };
    read("q_tile", choice.tiles.q_tile);
    read("kv_tile", choice.tiles.kv_tile);
    read("backward_q_tile", choice.backward_tiles.q_tile);
    read("backward_kv_tile", choice.backward_tiles.kv_tile);
    if (has("backend") && element["backend"].is_string())
      choice.backend = element["backend"].get<std::string>();
    if (has("kernel") && element["kernel"].is_string()) choice.kernel = element["kernel"].get<std::string>();
    choices.push_back(choice);
  }
  return choices;
}

Json OptionValue<TileChoices>::schema(const About&) {
  const Json shape = per_axis_schema(integer_schema(1, kMaxAxisLength));
  return list_schema(object_schema({{"q_tile", shape},
                                    {"kv_tile", shape},
                                    {"backward_q_tile", shape},
                                    {"backward_kv_tile", shape},
                                    {"backend", or_null(plain_schema("string"))},
                                    {"kernel", plain_schema("string")}}));
}

bool OptionValue<TileChoices>::to_json(const TileChoices& choices, Json& out) {
  out = Json::array();
  for (const TileChoice& choice : choices) {
    Json entry;
    const auto write = [&](const char* name, const Extents& shape) {
      if (!shape.empty()) entry[name] = report::to_json(shape);
    };
    write("q_tile", choice.tiles.q_tile);
    write("kv_tile", choice.tiles.kv_tile);
    write("backward_q_tile", choice.backward_tiles.q_tile);
    write("backward_kv_tile", choice.backward_tiles.kv_tile);
    entry["backend"] = choice.backend.empty() ? Json() : Json(choice.backend);
    if (!choice.kernel.empty()) entry["kernel"] = choice.kernel;
    out.push_back(entry);
  }
  return true;
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    std::istringstream parts(word);
    for (std::string name; std::getline(parts, name, ',');) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

DeviceNames OptionValue<DeviceNames>::from_words(const std::string&, const std::vector<std::string>& words,
                                                 const About&) {
  return {split_at_commas(words)};
}

Json OptionValue<DeviceNames>::schema(const About&) {
  const Json name = plain_schema("string");
  return {{"anyOf", Json::array({name, list_schema(name)})}};
}

bool OptionValue<DeviceNames>::to_json(const DeviceNames& devices, Json& out) {
  if (devices.names.empty()) return false;
  out = devices.names.size() == 1 ? Json(devices.names.front()) : Json(devices.names);
  return true;
}

}  // namespace natten_sim::cli
