#include "cli/server.hpp"

#include <new>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "cli/limits.hpp"
#include "cli/line_source.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kRequest = "request";
constexpr const char* kRequestKeys = "command, options, id";

}  // namespace

std::string Server::refusal(const Error& error, const std::string& id) {
  const std::string begin = id.empty() ? "{" : "{\"id\":" + id + ",";
  return begin + "\"error\":" + json_text(error_fields(error)) + "}\n";
}

std::string Server::respond(std::string_view line) {
  std::string id;
  try {
    Json request = parse_unique_json(line, kRequest);
    if (!request.is_object())
      throw MalformedData(kRequest, "not an object", R"({"command": "count", "options": {..}, "id": 1})");
    if (request.contains("id")) id = json_text(request.at("id"));
    const AnswerTime time(answer_s_);
    return invocation(std::move(request)).answer().line(id);
  } catch (const Error& error) {
    return refusal(error, id);
  } catch (const std::bad_alloc&) {
    return refusal(InvalidParameter(kRequest, "too large for this machine's memory, or for max-memory",
                                    "a smaller question, or more memory"),
                   id);
  }
}

Invocation Server::invocation(Json request) {
  for (const auto& [key, ignored] : request.items()) {
    if (key != "command" && key != "options" && key != "id") throw UnknownName("key", key, "", kRequestKeys);
  }
  if (!request.contains("command") || !request.at("command").is_string())
    throw InvalidParameter("command", "not given as a text", "the name of a subcommand");
  const std::string name = request.at("command").get<std::string>();
  auto found = without_options_.find(name);
  if (found == without_options_.end())
    found = without_options_.emplace(name, Invocation(name, commands_)).first;
  Invocation asked = found->second;
  if (!request.contains("options")) return asked;
  Json& options = request["options"];
  if (!options.is_object())
    throw InvalidParameter("options", json_text(options), "an object: names and values");
  for (auto option = options.begin(); option != options.end(); ++option)
    asked.set(option.key(), std::move(option.value()));
  return asked;
}

}  // namespace natten_sim::cli
