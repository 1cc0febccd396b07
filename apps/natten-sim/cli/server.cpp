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
/// Choices of columns that are kept, since a client repeats its own.
constexpr std::size_t kMostColumnChoices = 64;
constexpr const char* kRequestKeys = "command, options, columns, id";

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
    const AnswerColumns& columns = columns_of(request);
    const JsonAnswer answer = invocation(std::move(request)).answer();
    if (columns.empty()) return answer.line(id);
    const std::string begin = id.empty() ? "{" : "{\"id\":" + id + ",";
    return begin + columns.members(answer.input(), answer.result()) + "}\n";
  } catch (const Error& error) {
    return refusal(error, id);
  } catch (const std::bad_alloc&) {
    return refusal(InvalidParameter(kRequest, "too large for this machine's memory, or for max-memory",
                                    "a smaller question, or more memory"),
                   id);
  }
}

const AnswerColumns& Server::columns_of(const Json& request) {
  static const AnswerColumns whole;
  if (!request.contains("columns")) return whole;
  const Json& columns = request.at("columns");
  const std::string name = name_of(request);
  const std::string key = name + json_text(columns);
  if (const auto found = columns_.find(key); found != columns_.end()) return found->second;
  std::vector<std::string> names;
  if (columns.is_array()) {
    for (const Json& column : columns) {
      if (column.is_string()) names.push_back(column.get<std::string>());
    }
  }
  if (names.empty() || names.size() != columns.size())
    throw InvalidParameter("columns", json_text(columns), R"(names, such as ["visited_tiles", "window"])");
  if (columns_.size() >= kMostColumnChoices) columns_.clear();
  return columns_.emplace(key, AnswerColumns(name, std::move(names), commands_)).first->second;
}

std::string Server::name_of(const Json& request) {
  if (!request.contains("command") || !request.at("command").is_string())
    throw InvalidParameter("command", "not given as a text", "the name of a subcommand");
  return request.at("command").get<std::string>();
}

Invocation Server::invocation(Json request) {
  for (const auto& [key, ignored] : request.items()) {
    if (key != "command" && key != "options" && key != "columns" && key != "id") throw UnknownName("key", key, "", kRequestKeys);
  }
  const std::string name = name_of(request);
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
