#include <algorithm>
#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/answer_schema.hpp"
#include "cli/invocation.hpp"
#include "cli/option_value.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kServe = "serve";

struct SchemaFlags {
  std::string of;
  std::optional<std::string> folder;
  std::optional<std::string> output;
};

std::vector<const Command*> commands_with_json() {
  std::vector<const Command*> found;
  for (const Command& command : commands()) {
    if (gives_json(command)) found.push_back(&command);
  }
  return found;
}

std::vector<std::string> names_of_schemas() {
  std::vector<std::string> names = names_with_json(commands());
  names.insert(names.begin(), kServe);
  return names;
}

/// Schema of all that --json prints: `input` by the rows of options, `result` by its description.
std::string schema_text(const Command& command) {
  const Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "natten-sim " + command.name + " --json"},
                         {"type", "object"},
                         {"properties",
                          {{"id", {{"description", "of the request, in answers of serve"}}},
                           {"schema", {{"const", report::schema_name(command.name)}}},
                           {"version", {{"type", "string"}}},
                           {"input", command.input_schema()},
                           {"result", answer_schema(command)}}},
                         {"required", Json::array({"schema", "version", "input", "result"})},
                         {"additionalProperties", false}};
  return json_text(document, JsonLayout::kIndented) + "\n";
}

/// A value as an option takes it: as on the command line, or as a number or boolean; several in an array.
Json value_schema(const OptionSpec& spec) {
  Json schema = Json::object();
  if (!spec.help.empty()) schema["description"] = spec.help;
  if (spec.value_name.empty()) {
    schema["enum"] = Json::array({true, false, 1, 0, "true", "false", "1", "0", nullptr});
    return schema;
  }
  const bool several = spec.max_values > 1;
  const bool words = spec.text || (!spec.choices.empty() && spec.choices.find_first_of("0123456789") != 0);
  const std::string choices =
      spec.other_choices.empty() ? spec.choices : spec.choices + " " + spec.other_choices;
  // Numbers and booleans may come as such.
  Json one = Json{{"type", Json::array({"string", "number", "boolean"})}};
  if (words) one = several ? plain_schema("string") : choice_schema(choices);
  Json any = Json::array({one});
  Json element = one;
  if (spec.value_name.find(':') != std::string::npos) {
    const Json pair = {{"type", "array"}, {"items", one}, {"minItems", 2}, {"maxItems", 2}};
    element = {{"anyOf", Json::array({std::move(one), pair})}};
  }
  any.push_back({{"type", "array"},
                 {"items", std::move(element)},
                 {"minItems", spec.may_be_empty ? 0 : 1},
                 {"maxItems", spec.max_values}});
  any.push_back(plain_schema("null"));
  schema["anyOf"] = std::move(any);
  return schema;
}

/// OptionSpec::keys, with dashes or underscores.
std::vector<std::string> keys_of(const OptionSpec& spec) {
  std::vector<std::string> keys;
  for (std::string& key : spec.keys()) {
    keys.push_back(key);
    std::replace(key.begin(), key.end(), '_', '-');
    if (key != keys.back()) keys.push_back(std::move(key));
  }
  return keys;
}

/// A request of `serve` for this subcommand.
Json request_schema(const Command& command) {
  Json options = Json::object();
  for (const OptionSpec& spec : command.options) {
    if (!is_of_each_answer(spec)) continue;
    const Json schema = value_schema(spec);
    for (const std::string& key : keys_of(spec)) options[key] = schema;
  }
  const Json input = command.input_schema();
  for (const OptionSpec& spec : command.keys) {
    if (input.at("properties").contains(spec.key) && !options.contains(spec.key))
      options[spec.key] = input.at("properties").at(spec.key);
  }
  if (!command.positional.empty())
    options[command.positional] = {{"type", Json::array({"string", "array", "null"})}};
  return {{"type", "object"},
          {"properties",
           {{"columns",
             {{"type", "array"},
              {"description", "columns of a sweep's table: the answer has only these"},
              {"minItems", 1},
              {"items", {{"type", "string"}}}}},
            {"command", {{"const", command.name}}},
            {"compact", {{"type", "boolean"}, {"description", "the answer has its id and the members of its result alone"}}},
            {"id", {{"description", "anything; it comes back first in the answer"}}},
            {"options", object_schema(std::move(options))}}},
          {"required", Json::array({"command"})},
          {"additionalProperties", false}};
}

std::string requests_text() {
  Json each = Json::array();
  for (const Command* command : commands_with_json()) each.push_back(request_schema(*command));
  each.push_back({{"type", "object"},
                  {"properties",
                   {{"cancel", {{"description", "the id of the request that is to end"}}},
                    {"id", {{"description", "anything; it comes back first in the answer"}}}}},
                  {"required", Json::array({"cancel"})},
                  {"additionalProperties", false}});
  const Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "a request of natten-sim serve"},
                         {"anyOf", std::move(each)}};
  return json_text(document, JsonLayout::kIndented) + "\n";
}

const Command& command_of(const std::string& name) {
  for (const Command* command : commands_with_json()) {
    if (command->name == name) return *command;
  }
  const std::vector<std::string> names = names_of_schemas();
  if (name.empty()) throw InvalidParameter("subcommand", "not given", joined(names));
  throw UnknownName("subcommand", name, closest_name(name, names), joined(names));
}

int run_schema(const SchemaFlags& flags) {
  if (flags.folder) {
    for (const Command* command : commands_with_json())
      write_file((std::filesystem::path(*flags.folder) / (command->name + ".schema.json")).string(),
                 schema_text(*command));
    write_file((std::filesystem::path(*flags.folder) / "serve.schema.json").string(), requests_text());
    return kExitDone;
  }
  write_output({.output = flags.output},
               flags.of == kServe ? requests_text() : schema_text(command_of(flags.of)));
  return kExitDone;
}

}  // namespace

Command schema_command();
Command schema_command() {
  Options<SchemaFlags> rows;
  rows.positional(
      "subcommand", &SchemaFlags::of,
      {.help = "A subcommand that has --json; serve: of its requests", .suggestions = names_of_schemas});
  rows.add("--folder", &SchemaFlags::folder,
           {.value = "DIR", .help = "Write all schemas into DIR", .rules_out = {{"output", "subcommand"}}});
  rows.add("--output", &SchemaFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.group(kOutputGroup);
  Command command{.name = "schema",
                  .position = 95,
                  .group = kManyCommands,
                  .summary = "Print the JSON Schema of what a subcommand prints with --json, or of requests",
                  .examples = {"natten-sim schema count", "natten-sim schema serve"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  bind(command, rows, run_schema);
  return command;
}

}  // namespace natten_sim::cli
