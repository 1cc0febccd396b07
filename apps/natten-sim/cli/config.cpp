#include "cli/config.hpp"

#include <algorithm>
#include <sstream>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

FileValue::Scalar scalar_of(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  throw MalformedData(where, "a value of another kind", "a string, number, boolean or array of these");
}

/// `value`: a text that the key has, for spellings that go with some values alone.
const OptionSpec* find_option(const Command& command, const std::string& key, const std::string& value = "") {
  const std::string flag = flag_of_key(key);
  for (const OptionSpec& spec : command.options) {
    for (const OtherSpelling& other : spec.spellings) {
      if (!value.empty() && other.flag == flag && other.with != nullptr && other.with(value)) return &spec;
    }
  }
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const OptionSpec& spec) { return spec.reads(flag); });
  return found == command.options.end() ? nullptr : &*found;
}

/// The value of one key, with no more elements than its option takes.
FileValue read_value(const toml::node& node, const OptionSpec& option, const std::string& where) {
  std::vector<FileValue::Scalar> scalars;
  if (const auto* array = node.as_array()) {
    for (const toml::node& element : *array) scalars.push_back(scalar_of(element, where));
  } else {
    scalars.push_back(scalar_of(node, where));
  }
  const bool flag = option.value_name.empty();
  if (flag && !node.is_boolean()) throw MalformedData(where, "not a boolean", "true or false");
  if (!flag && (scalars.empty() || scalars.size() > static_cast<std::size_t>(option.max_values))) {
    throw MalformedData(where, std::to_string(scalars.size()) + " values",
                        "1 to " + std::to_string(option.max_values));
  }
  return FileValue(std::move(scalars));
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
bool decided(std::size_t option, const Command& command, const Sources& sources) {
  if (sources[option].decided()) return true;
  const std::string& name = sources.name(option);
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    for (const std::string& other : command.options[i].excludes) {
      if ((i == option && sources.given(other)) || (other == name && sources[i].given())) return true;
    }
  }
  return false;
}

/// `known`: the subcommands whose options may stand in this table.
void merge_table(const toml::table& table, const std::string& path, const Command& command,
                 const std::vector<const Command*>& known, Sources& sources) {
  const Sources before = sources;  // rivals within one table are a contradiction, found later
  for (const auto& [key_node, node] : table) {
    const std::string key(key_node.str());
    if (node.is_table()) continue;  // checked by merge_config
    const bool someones = std::any_of(known.begin(), known.end(), [&](const Command* other) {
      return find_option(*other, key) != nullptr;
    });
    if (!someones) refuse(path, key, known);
    const OptionSpec* option = find_option(command, key, node.value_or(std::string()));
    if (option == nullptr) continue;
    if (option->name() == kOptionsFile)
      throw MalformedData(path, "'" + option->name() + "' in a config file", "options, no further files");
    FileValue value = read_value(node, *option, path + ": '" + key + "'");
    const auto place = static_cast<std::size_t>(option - command.options.data());
    if (decided(place, command, before)) continue;
    if (node.is_boolean() && option->value_name.empty() && !node.as_boolean()->get()) {
      sources[place].off = true;
    } else {
      sources[place].file = std::move(value);
    }
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

void merge_config(const Command& command, const std::vector<Command>& commands, Sources& sources) {
  const auto option =
      std::find_if(command.options.begin(), command.options.end(),
                   [&](const OptionSpec& spec) { return spec.name() == kOptionsFile; });
  if (option == command.options.end()) return;
  const Source& given = sources[static_cast<std::size_t>(option - command.options.begin())];
  if (given.words == nullptr) return;
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
    merge_table(*own, path, command, {&command}, sources);
  merge_table(document, path, command, all, sources);
}

}  // namespace natten_sim::cli
