#include "cli/config.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "cli/option_names.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

Json json_of(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  const auto* array = node.as_array();
  if (array == nullptr)
    throw MalformedData(where, "a value of another kind", "a string, number, boolean or array of these");
  Json elements = Json::array();
  for (const toml::node& element : *array) elements.push_back(json_of(element, where));
  return elements;
}

[[noreturn]] void refuse(const std::string& path, const std::string& key,
                         const std::vector<const Command*>& commands) {
  std::vector<std::string> names;
  for (const Command* command : commands) {
    for (const OptionSpec& spec : command->options) names.push_back(spec.name());
  }
  throw UnknownName(
      "option in " + path, key, closest_name(key, names),
      commands.size() == 1 ? "options of " + commands.front()->name : "options of any subcommand");
}

/// The option, or one that excludes it, has its value already.
bool decided(std::size_t option, const Sources& sources) {
  if (sources[option].decided()) return true;
  const Command& command = sources.command();
  const std::string name = sources.name(option);
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    for (const std::string& other : command.options[i].excludes) {
      if ((i == option && sources.given(other)) || (other == name && sources[i].given())) return true;
    }
  }
  return false;
}

bool is_option_of(const Command& command, const std::string& key, const Json& value) {
  const std::optional<std::size_t> place = OptionNames(command).find(key, value);
  return place && *place < command.options.size();
}

/// `known`: the subcommands whose options may stand in this table.
void merge_table(const toml::table& table, const std::string& path, const std::vector<const Command*>& known,
                 Sources& sources) {
  const Command& command = sources.command();
  const OptionNames names(command);
  const Sources before = sources;  // rivals within one table are a contradiction, found later
  std::set<std::size_t> seen;
  for (const auto& [key_node, node] : table) {
    const std::string key(key_node.str());
    if (node.is_table()) continue;  // checked by merge_config
    Json value = json_of(node, path + ": '" + key + "'");
    const std::optional<std::size_t> place = names.find(key, value);
    if (!place || *place >= command.options.size()) {
      const bool someones = std::any_of(known.begin(), known.end(),
                                        [&](const Command* other) { return is_option_of(*other, key, value); });
      if (!someones) refuse(path, key, known);
      continue;
    }
    if (command.options[*place].is_called(kOptionsFile))
      throw MalformedData(path, std::string("'") + kOptionsFile + "' in a config file", "options, no further files");
    if (!seen.insert(*place).second) throw InvalidParameter(key, "given twice", "each option once");
    Sources own(command);
    own.set(*place, key, std::move(value));
    (void)filled_form(own);  // wrong also where the command line has another value
    if (!decided(*place, before)) sources[*place] = std::move(own[*place]);
  }
}

constexpr std::int64_t kMaxConfigBytes = 1 << 20;
constexpr int kMaxKeyParts = 16;

/// The parser calls itself for each part of a dotted key.
void require_shallow_keys(std::string_view text, const std::string& path) {
  int parts = 1;
  char quote = 0;
  bool in_key = true, comment = false;
  for (const char c : text) {
    if (c == '\n') {
      parts = 1;
      quote = 0;
      comment = false;
      in_key = true;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '#') {
      comment = true;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '=') {
      in_key = false;
    } else if (c == '{' || c == ',') {  // of an inline table
      parts = 1;
      in_key = true;
    } else if (in_key && c == '.' && ++parts > kMaxKeyParts) {
      throw MalformedData("config file " + path, "a key of more than " + std::to_string(kMaxKeyParts) + " parts",
                          "subcommand and option");
    }
  }
}

}  // namespace

void merge_config(const std::vector<Command>& commands, Sources& sources) {
  const Command& command = sources.command();
  const auto option =
      std::find_if(command.options.begin(), command.options.end(),
                   [&](const OptionSpec& spec) { return spec.name() == kOptionsFile; });
  if (option == command.options.end()) return;
  const Source& given = sources[static_cast<std::size_t>(option - command.options.begin())];
  if (!given.words) return;
  const std::string& path = given.words->front();
  toml::table document;
  try {
    const std::string text = read_text("config", path, kMaxConfigBytes);
    require_shallow_keys(text, path);
    document = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    std::ostringstream place;
    place << error.description() << " (line " << error.source().begin.line << ")";
    throw MalformedData("config file " + path, place.str(), "a TOML file");
  }
  std::vector<std::string> names;
  std::vector<const Command*> all;
  for (const Command& other : commands) {
    names.push_back(other.name);
    all.push_back(&other);
  }
  for (const auto& [key, node] : document) {
    if (!node.is_table() || std::find(names.begin(), names.end(), key.str()) != names.end()) continue;
    throw UnknownName("table in " + path, std::string(key.str()), closest_name(key.str(), names),
                      "a subcommand");
  }
  if (const toml::table* own = document[command.name].as_table())
    merge_table(*own, path, {&command}, sources);
  merge_table(document, path, all, sources);
}

}  // namespace natten_sim::cli
