#include "cli/server.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "cli/batch.hpp"
#include "cli/limits.hpp"
#include "cli/line_scanner.hpp"
#include "cli/line_source.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kRequest = "request";
/// Choices of columns that are kept, since a client repeats its own.
constexpr std::size_t kMostColumnChoices = 64;
constexpr std::size_t kLongestCancel = 4096;
constexpr const char* kRequestKeys = "command, options, columns, compact, id";

bool is_one_integer(const LineMember& member) {
  return member.kind == LineMember::Kind::kPlain && member.value.front() != '[' && !member.plain.is_boolean;
}

Json value_of(const LineMember& member) {
  if (member.kind == LineMember::Kind::kNull) return nullptr;
  if (member.kind == LineMember::Kind::kText) return member.value;
  const auto scalar = [&](std::int64_t value) { return member.plain.is_boolean ? Json(value == 1) : Json(value); };
  if (member.value.front() != '[') return scalar(member.plain.values.front());
  Json array = Json::array();
  for (const std::int64_t value : member.plain.values) array.push_back(scalar(value));
  return array;
}

/// As json_text writes names of columns, which have no spaces.
std::string without_spaces(std::string_view names) {
  std::string text;
  for (const char c : names) {
    if (c != ' ' || !text.ends_with(',')) text += c;
  }
  return text;
}

}  // namespace

std::string Server::refusal(const Error& error, const std::string& id) {
  const std::string begin = id.empty() ? "{" : "{\"id\":" + id + ",";
  return begin + "\"error\":" + json_text(error_fields(error)) + "}\n";
}

std::string Server::id_of(std::string_view line) {
  try {
    if (const std::optional<PlainRequest> plain = plain_request(line)) return plain->id;
    const Json request = parse_unique_json(line, kRequest);
    return request.is_object() && request.contains("id") ? json_text(request.at("id")) : "";
  } catch (const Error&) {
    return "";
  }
}

std::optional<CancelRequest> Server::cancel_of(std::string_view line) {
  if (line.size() > kLongestCancel || line.find("\"cancel\"") == std::string_view::npos) return std::nullopt;
  try {
    const Json request = parse_unique_json(line, kRequest);
    if (!request.is_object() || !request.contains("cancel") || request.contains("command")) return std::nullopt;
    return CancelRequest{.cancelled = json_text(request.at("cancel")),
                         .id = request.contains("id") ? json_text(request.at("id")) : ""};
  } catch (const Error&) {
    return std::nullopt;  // its answer says what is wrong with it
  }
}

std::string Server::cancelled(const std::string& id, bool was_under_way) {
  const std::string begin = id.empty() ? "{" : "{\"id\":" + id + ",";
  return begin + "\"cancelled\":" + (was_under_way ? "true" : "false") + "}\n";
}

bool Server::read_options(std::string_view object, PlainRequest& request) {
  LineScanner scanner(object);
  for (LineMember member; scanner.next(member);) {
    const bool known = member.kind == LineMember::Kind::kPlain || member.kind == LineMember::Kind::kText ||
                       member.kind == LineMember::Kind::kNull;
    const bool twice = std::any_of(request.options.begin(), request.options.end(),
                                   [&](const auto& option) { return option.first == member.key; });
    if (!known || twice) return false;
    request.options.emplace_back(member.key, value_of(member));
  }
  return !scanner.odd();
}

std::optional<Server::PlainRequest> Server::plain_request(std::string_view line) {
  PlainRequest request;
  bool has_options = false;
  LineScanner scanner(line);
  for (LineMember member; scanner.next(member);) {
    const bool structure = member.kind == LineMember::Kind::kStructure;
    if (member.key == "command" && member.kind == LineMember::Kind::kText && request.command.empty()) {
      request.command = member.value;
    } else if (member.key == "id" && request.id.empty() &&
               (member.kind == LineMember::Kind::kText || is_one_integer(member))) {
      request.id = id_text(member);
    } else if (member.key == "compact" && member.kind == LineMember::Kind::kPlain && member.plain.is_boolean &&
               member.value.front() != '[') {
      request.compact = member.plain.values.front() == 1;
    } else if (member.key == "columns" && structure && request.columns.empty()) {
      request.columns = without_spaces(member.value);
    } else if (member.key == "options" && structure && member.value.front() == '{' && !has_options) {
      has_options = true;
      if (!read_options(member.value, request)) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return scanner.odd() || request.command.empty() ? std::nullopt : std::optional(std::move(request));
}

std::string Server::line_of(const JsonAnswer& answer, const AnswerColumns& columns, const std::string& id,
                            bool compact) {
  if (columns.empty() && !compact) return answer.line(id);
  const std::string begin = id.empty() ? "{" : "{\"id\":" + id + ",";
  if (columns.empty()) return begin + answer.result_text().substr(1) + "\n";
  return begin + columns.members(answer.input(), answer.result()) + "}\n";
}

namespace {

/// @throws InvalidParameter
bool compact_in(const Json& request) {
  if (!request.contains("compact")) return false;
  const Json& compact = request.at("compact");
  if (!compact.is_boolean()) throw InvalidParameter("compact", json_text(compact), "true or false");
  return compact == Json(true);
}

}  // namespace

std::string Server::respond(std::string_view line) {
  std::string id;
  try {
    if (std::optional<PlainRequest> plain = plain_request(line)) {
      static const AnswerColumns whole;
      const auto columns = columns_.find(plain->command + plain->columns);
      if (plain->columns.empty() || columns != columns_.end()) {
        id = plain->id;
        const AnswerTime time(answer_s_);
        Invocation asked = without_options(plain->command);
        for (auto& [name, value] : plain->options) asked.set(name, std::move(value));
        return line_of(asked.answer(), plain->columns.empty() ? whole : columns->second, id, plain->compact);
      }
    }
    // Here answers come one after the other: nothing is under way.
    if (const std::optional<CancelRequest> cancel = cancel_of(line)) return cancelled(cancel->id, false);
    Json request = parse_unique_json(line, kRequest);
    if (!request.is_object())
      throw MalformedData(kRequest, "not an object", R"({"command": "count", "options": {..}, "id": 1})");
    if (request.contains("id")) id = json_text(request.at("id"));
    const AnswerTime time(answer_s_);
    const AnswerColumns& columns = columns_of(request);
    const bool compact = compact_in(request);
    return line_of(invocation(std::move(request)).answer(), columns, id, compact);
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

Invocation Server::without_options(const std::string& name) {
  auto found = without_options_.find(name);
  if (found == without_options_.end())
    found = without_options_.emplace(name, Invocation(name, commands_)).first;
  return found->second;
}

Invocation Server::invocation(Json request) {
  for (const auto& [key, ignored] : request.items()) {
    if (key != "command" && key != "options" && key != "columns" && key != "compact" && key != "id")
      throw UnknownName("key", key, "", kRequestKeys);
  }
  Invocation asked = without_options(name_of(request));
  if (!request.contains("options")) return asked;
  Json& options = request["options"];
  if (!options.is_object())
    throw InvalidParameter("options", json_text(options), "an object: names and values");
  for (auto option = options.begin(); option != options.end(); ++option)
    asked.set(option.key(), std::move(option.value()));
  return asked;
}

}  // namespace natten_sim::cli
