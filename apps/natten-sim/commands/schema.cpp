#include <algorithm>
#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/result_schemas.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

struct SchemaFlags {
  std::string of;
  std::optional<std::string> folder;
  std::optional<std::string> output;
};

std::vector<const Command*> commands_with_json() {
  std::vector<const Command*> found;
  for (const Command& command : commands()) {
    const bool json = std::any_of(command.options.begin(), command.options.end(),
                                  [](const OptionSpec& spec) { return spec.name() == "json"; });
    if (json) found.push_back(&command);
  }
  return found;
}

/// Of all that --json prints: `input` by the rows of options, `result` by data/result-schemas.json.
std::string schema_text(const Command& command) {
  const Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "natten-sim " + command.name + " --json"},
                         {"type", "object"},
                         {"properties",
                          {{"id", {{"description", "of the request, in answers of serve"}}},
                           {"schema", {{"const", report::schema_name(command.name)}}},
                           {"version", {{"type", "string"}}},
                           {"input", command.input_schema()},
                           {"result", result_schema(command.name)}}},
                         {"required", Json::array({"schema", "version", "input", "result"})},
                         {"additionalProperties", false}};
  return json_text(document, JsonLayout::kIndented) + "\n";
}

const Command& command_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : commands_with_json()) {
    if (command->name == name) return *command;
    names.push_back(command->name);
  }
  if (name.empty()) throw InvalidParameter("subcommand", "not given", joined(names));
  throw UnknownName("subcommand", name, closest_name(name, names), joined(names));
}

int run_schema(const SchemaFlags& flags) {
  if (flags.folder) {
    for (const Command* command : commands_with_json())
      write_file((std::filesystem::path(*flags.folder) / (command->name + ".schema.json")).string(),
                 schema_text(*command));
    return kExitDone;
  }
  write_output({.output = flags.output}, schema_text(command_of(flags.of)));
  return kExitDone;
}

}  // namespace

Command schema_command();
Command schema_command() {
  Options<SchemaFlags> rows;
  rows.positional("subcommand", &SchemaFlags::of, {.help = "A subcommand that has --json"});
  rows.add("--folder", &SchemaFlags::folder,
           {.value = "DIR", .help = "Write all schemas into DIR", .rules_out = {{"output", "subcommand"}}});
  rows.add("--output", &SchemaFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.group(kOutputGroup);
  Command command{.name = "schema",
                  .position = 95,
                  .group = kManyCommands,
                  .summary = "Print the JSON Schema of what a subcommand prints with --json",
                  .examples = {"natten-sim schema count"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  bind(command, rows, run_schema);
  return command;
}

}  // namespace natten_sim::cli
