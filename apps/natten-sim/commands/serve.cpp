#include <map>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "cli/invocation.hpp"
#include "cli/line_source.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kRequest = "request";
constexpr const char* kRequestKeys = "command, options, id";

struct ServeFlags {
  std::string requests = "-";
  std::optional<std::string> output;
};

FileValue::Scalar scalar_of(const std::string& option, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  throw InvalidParameter(option, json_text(value), "a text, a number, true, false, or an array of these");
}

FileValue value_of(const std::string& option, const Json& value) {
  std::vector<FileValue::Scalar> scalars;
  if (value.is_array()) {
    for (const Json& element : value) scalars.push_back(scalar_of(option, element));
  } else {
    scalars.push_back(scalar_of(option, value));
  }
  return FileValue(std::move(scalars));
}

/// Answers one line after the other.
class Server {
 public:
  /// @return the line of the answer
  std::string respond(std::string_view line) {
    std::string id;
    try {
      require_unique_keys(line, kRequest);
      const Json request = parse_json(line);
      if (!request.is_object())
        throw MalformedData(kRequest, "not an object", R"({"command": "count", "options": {..}, "id": 1})");
      if (request.contains("id")) id = json_text(request.at("id"));
      const std::string answer = one_line(invocation(request).answer());
      return begin(id) + answer.substr(1) + "\n";  // behind its bracket
    } catch (const Error& error) {
      return begin(id) + "\"error\":" + json_text(error_fields(error)) + "}\n";
    }
  }

 private:
  static std::string begin(const std::string& id) { return id.empty() ? "{" : "{\"id\":" + id + ","; }

  Invocation invocation(const Json& request) {
    for (const auto& [key, ignored] : request.items()) {
      if (key != "command" && key != "options" && key != "id")
        throw UnknownName("key", key, "", kRequestKeys);
    }
    if (!request.contains("command") || !request.at("command").is_string())
      throw InvalidParameter("command", "not given as a text", "the name of a subcommand");
    const std::string name = request.at("command").get<std::string>();
    auto found = without_options_.find(name);
    if (found == without_options_.end())
      found = without_options_.emplace(name, Invocation(name, commands())).first;
    Invocation asked = found->second;
    if (!request.contains("options")) return asked;
    if (!request.at("options").is_object())
      throw InvalidParameter("options", json_text(request.at("options")), "an object: names and values");
    for (const auto& [option, value] : request.at("options").items()) {
      if (!value.is_null()) asked.set(option, value_of(option, value));
    }
    return asked;
  }

  std::map<std::string, Invocation> without_options_;
};

int run_serve(const ServeFlags& flags) {
  LineSource source("requests", flags.requests);
  OutputSink sink(flags.output, OutputSink::Mode::kStreamed);
  Server server;
  std::string_view line;
  while (source.next(line, [&] { sink.flush(); })) {
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) sink.write(server.respond(line));
  }
  sink.commit();
  return kExitDone;
}

}  // namespace

Command serve_command();
Command serve_command() {
  Options<ServeFlags> rows;
  rows.add("--requests", &ServeFlags::requests,
           {.value = "FILE", .help = "File of requests instead of standard input [default]"});
  rows.add("--output", &ServeFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  Command command{
      .name = "serve", .position = 90, .summary = "Answer requests of other programs, a JSON line each"};
  command.group = kManyCommands;
  command.examples = {"echo '{\"command\": \"count\", \"options\": {\"preset\": \"hunyuan-video\", \"window\": [18, 24, 24]}}' | natten-sim serve"};
  command.notes =
      "A request is {\"command\": SUBCOMMAND, \"options\": {NAME: VALUE, ..}, \"id\": ANYTHING} on one line. Names "
      "are those of the subcommand's long options, with - or _; a flag takes true or false.\n"
      "Its answer is what the subcommand prints with --json, on one line and in order, the id first; or "
      "{\"id\", \"error\": {\"message\", \"parameter\", \"value\", \"accepted\", \"hint\"}}.";
  command.exit_codes = "0 done, also where requests were bad; 1 internal error, 2 bad input.";
  bind(command, rows.essentials({"requests", "output"}), run_serve);
  return command;
}

}  // namespace natten_sim::cli
