#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "cli/answer_columns.hpp"
#include "cli/invocation.hpp"

namespace natten_sim::cli {

/// {"cancel": ID, "id": ANYTHING}: JSON texts, of the request that nobody waits for any more, and of this one.
struct CancelRequest {
  std::string cancelled, id;
};

/// Answers requests of other programs, one JSON object each:
///     {"command": "count", "options": {"input": [64], "window": [16]}, "id": 1}
/// `serve` reads them from its standard input; the pages of the classroom call it in the browser.
class Server {
 public:
  /// `commands` outlive it.
  /// An answer that takes longer than `answer_s`, if any, ends with an error.
  explicit Server(const std::vector<Command>& commands, std::optional<double> answer_s = std::nullopt)
      : commands_(commands), answer_s_(answer_s) {}

  /// What the subcommand prints with --json, on one line, the request's id first; with `columns` only those, as
  /// AnswerColumns has them; with `compact` the members of its result alone; or an object with `error`.
  /// @return the line, with its end
  [[nodiscard]] std::string respond(std::string_view line);
  /// The answer to a request that could not be read.
  [[nodiscard]] static std::string refusal(const Error& error, const std::string& id = "");
  /// The `id` of a request, as JSON text; empty: it has none, or is no request.
  [[nodiscard]] static std::string id_of(std::string_view line);
  /// None: the line is no cancellation.
  [[nodiscard]] static std::optional<CancelRequest> cancel_of(std::string_view line);
  /// The answer to a cancellation.
  [[nodiscard]] static std::string cancelled(const std::string& id, bool was_under_way);

 private:
  /// A request as programs write it: values that the scanner of lines reads without a tree.
  struct PlainRequest {
    std::string command, id, columns;  ///< `columns`: JSON text; empty: whole answers
    bool compact = false;
    std::vector<std::pair<std::string, Json>> options;
  };
  /// None: odd or bad, which the full parser has to read.
  static std::optional<PlainRequest> plain_request(std::string_view line);
  static bool read_options(std::string_view object, PlainRequest& request);

  Invocation without_options(const std::string& name);
  Invocation invocation(Json request);
  [[nodiscard]] const AnswerColumns& columns_of(const Json& request);
  static std::string name_of(const Json& request);
  static std::string line_of(const JsonAnswer& answer, const AnswerColumns& columns, const std::string& id,
                             bool compact);

  const std::vector<Command>& commands_;
  std::optional<double> answer_s_;
  std::map<std::string, Invocation> without_options_;
  std::map<std::string, AnswerColumns> columns_;  ///< by subcommand and names, as JSON
};

}  // namespace natten_sim::cli
