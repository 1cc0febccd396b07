#include "fuzz/answers.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/answer_columns.hpp"
#include "cli/server.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz {
namespace {

/// The question as a user types it, for messages.
std::string asked_line;

void require_same(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "natten-sim %s\n%s\n", asked_line.c_str(), what.c_str());
  require(false, "answers to one question agree");
}

const cli::Command& command_of(const std::string& subcommand) {
  const auto& all = cli::commands();
  return *std::find_if(all.begin(), all.end(), [&](const cli::Command& each) { return each.name == subcommand; });
}

bool is_among(const std::string& name, const std::vector<std::string>& keys) {
  return std::find(keys.begin(), keys.end(), name) != keys.end();
}

std::string flag_of(const std::string& subcommand, const std::string& name) {
  for (const cli::OptionSpec& option : command_of(subcommand).options) {
    if (is_among(name, option.keys())) return "--" + option.name();
  }
  require(false, "an option of the subcommand");
  return "";
}

std::string word_of(const Json& value) { return value.is_string() ? value.text() : json_text(value); }

std::vector<std::string> typed_words(const std::string& subcommand, const Json& options) {
  std::vector<std::string> words = {subcommand};
  for (const auto& [name, value] : options.items()) {
    if (value.is_boolean()) {
      if (value == Json(true)) words.push_back(flag_of(subcommand, name));
      continue;
    }
    const bool positional = is_among(name, command_of(subcommand).positional_keys);
    if (!positional) words.push_back(flag_of(subcommand, name));
    if (!value.is_array()) words.push_back(word_of(value));
    if (!value.is_array()) continue;
    for (const Json& each : value) words.push_back(word_of(each));
  }
  return words;
}

std::vector<std::string> with(std::vector<std::string> words, std::initializer_list<const char*> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Doors spell options differently: --kv-tile is kv_tile elsewhere.
std::string without_dashes(std::string text) {
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) text.erase(at, 2);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// What the program says of a question that it refuses.
std::string refusal_of(const Printed& printed) {
  const std::string begin = "natten-sim: error: ";
  const std::size_t at = printed.err.find(begin);
  require_same(at != std::string::npos, "no error message: " + printed.err);
  return without_dashes(printed.err.substr(at + begin.size(), printed.err.find('\n', at) - at - begin.size()));
}

Json without(Json object, const std::string& member) {
  if (!object.contains(member)) return object;
  Json rest = Json::object();
  for (const auto& [name, value] : object.items()) {
    if (name != member) rest[name] = value;
  }
  return rest;
}

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  return line;
}

std::optional<double> number_in(const std::string& cell) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && end == cell.data() + cell.size() ? std::optional(number) : std::nullopt;
}

/// Whether a cell of CSV is this scalar. Arrays and objects have spellings of their own: they count as the same.
bool is_cell_of(const std::string& cell, const Json& value) {
  if (value.is_array() || value.is_object()) return true;
  if (value.is_null()) return cell.empty();
  if (value.is_string()) return cell == value.text() || cell == "'" + value.text();  // which is no formula
  if (value.is_boolean()) return cell == json_text(value);
  return number_in(cell) == number_in(json_text(value));
}

using Cells = std::vector<std::pair<std::string, std::string>>;  // column and value

std::vector<Cells> rows_of(const std::string& csv) {
  std::vector<Cells> rows;
  std::vector<std::string> head;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<std::vector<std::string>> cells = csv_cells(line);
    require_same(cells.has_value(), "no line of CSV: " + line);
    if (head.empty()) {
      head = *cells;
      continue;
    }
    require_same(cells->size() == head.size(), "a line of CSV has other columns than the first: " + line);
    rows.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) rows.back().emplace_back(head[i], (*cells)[i]);
  }
  return rows;
}

/// Columns of the row that the object has too, all with the same value; -1: one has another.
int columns_in_common(const Cells& row, const Json& object) {
  int common = 0;
  for (const auto& [column, cell] : row) {
    if (!object.contains(column)) continue;
    if (!is_cell_of(cell, object.at(column))) return -1;
    ++common;
  }
  return common;
}

/// Objects that a row of CSV may be about: the result and those in it.
void add_subjects(const Json& value, std::vector<Json>& subjects) {
  if (value.is_object()) {
    subjects.push_back(report::flattened(value));
    for (const auto& [name, member] : value.items()) add_subjects(member, subjects);
  } else if (value.is_array()) {
    for (const Json& element : value) add_subjects(element, subjects);
  }
}

void check_csv(const std::vector<std::string>& words, const Json& result, int code) {
  const Printed printed = printed_by_program(with(words, {"--csv", "--quiet"}));
  require_same(printed.code == code, "--csv is refused: " + printed.err);
  std::vector<Json> subjects;
  add_subjects(result, subjects);
  for (const Cells& row : rows_of(printed.out)) {
    const bool known = std::any_of(subjects.begin(), subjects.end(),
                                   [&](const Json& subject) { return columns_in_common(row, subject) >= 1; });
    std::string text;
    for (const auto& [column, cell] : row) text += column + "=" + cell + " ";
    require_same(known, "a row of --csv has values that --json has not: " + text);
  }
}

void check_text(const std::vector<std::string>& words, const Json& result, int code) {
  const Printed printed = printed_by_program(with(words, {"--quiet"}));
  // What nothing satisfies is said on standard error.
  require_same(printed.code == code && !(printed.out.empty() && printed.err.empty()), "text is refused: " + printed.err);
  const bool has = result.contains("conclusion") && result.at("conclusion").is_object();
  if (!has || printed.out.empty()) return;
  const std::string sentence = without_dashes(one_line(result.at("conclusion").at("sentence").text()));
  const std::string text = without_dashes(one_line(printed.out));
  require_same(text.find(sentence) != std::string::npos, "text does not end with: " + sentence);
}

void check_batch(const std::string& subcommand, const Json& options, const Json& result) {
  const MemoryFile line(json_text(options) + "\n");
  const Printed printed = printed_by_program({subcommand, "--batch", line.path(), "--quiet"});
  require_same(printed.code == 0, "the batch is refused: " + printed.out);
  const Json answer = parse_json(printed.out);
  require_same(answer == result, "a batch has another answer:\n" + printed.out + json_text(result));
}

/// A value that --over takes as it stands.
std::optional<std::string> swept_text(const Json& value) {
  if (value.is_number_integer()) return json_text(value);
  if (!value.is_array()) return std::nullopt;
  std::string text;
  for (const Json& each : value) {
    if (!each.is_number_integer()) return std::nullopt;
    text += (text.empty() ? "" : "x") + json_text(each);
  }
  return text;
}

void check_sweep(const std::string& subcommand, const Json& options, const Json& input, const Json& result) {
  for (const auto& [name, value] : options.items()) {
    const std::optional<std::string> swept = swept_text(value);
    if (!swept) continue;
    std::vector<std::string> words = typed_words(subcommand, without(options, name));
    words.insert(words.begin(), "sweep");
    const std::string over = name + "=" + *swept;
    const Printed printed = printed_by_program(with(std::move(words), {"--over", over.c_str(), "--quiet", "-j", "1"}));
    require_same(printed.code == 0, "the sweep is refused: " + printed.err + printed.out);
    Json expected = Json::object();
    cli::put_answer_fields(input, result, expected);
    const std::vector<Cells> rows = rows_of(printed.out);
    require_same(rows.size() == 1 && columns_in_common(rows.front(), without(expected, name)) >= 1,
                 "a sweep has another answer:\n" + printed.out + json_text(expected));
    return;
  }
}

std::optional<double> time_in(const Json& result) {
  if (!result.contains("time_ms") || !result.at("time_ms").is_object()) return std::nullopt;
  const Json& times = result.at("time_ms");
  if (!times.contains("total") || !times.at("total").is_number()) return std::nullopt;
  return number_in(json_text(times.at("total")));
}

Json answer_of(const std::string& subcommand, const Json& options) {
  return parse_json(cli::Server(cli::commands()).respond(json_text({{"command", subcommand}, {"options", options}})));
}

/// What the conclusion advises, asked again.
void check_advice(const std::string& subcommand, const Json& options, const Json& result) {
  if (!result.contains("conclusion") || !result.at("conclusion").is_object()) return;
  const Json& conclusion = result.at("conclusion");
  if (!conclusion.contains("options") || conclusion.at("options").empty()) return;
  if (subcommand == "validate") return;  // where the worst row is
  // A window stands in place of the wish that it fulfils.
  const bool window = conclusion.at("options").contains("window");
  Json changed = window ? without(without(options, "sparsity"), "speedup") : options;
  for (const auto& [name, value] : conclusion.at("options").items()) changed[name] = value;
  const Json again = answer_of(subcommand, changed);
  require_same(again.contains("result"), "what is advised is refused: " + json_text(changed) + json_text(again));
  const std::optional<double> before = time_in(result), after = time_in(again.at("result"));
  if (subcommand != "mask" || !before || !after || !conclusion.contains("gain")) return;
  const double gain = *number_in(json_text(conclusion.at("gain")));
  require_same(std::abs(*before / *after / gain - 1) < 1e-6,
               "what is advised gains something else: " + json_text(conclusion) + json_text(again));
}

/// Counts the looks at a token, one in 64 short steps.
class CountedLooks final : public Cancellation {
 public:
  void check() override { ++looks_; }
  [[nodiscard]] double steps() const { return 64.0 * static_cast<double>(looks_); }

 private:
  std::atomic<std::int64_t> looks_{0};
};

void check_estimate(const std::vector<std::string>& words, const std::string& subcommand, const Json& options) {
  constexpr double kFewSteps = 2e4;  // that no estimate is asked for
  const Printed printed = printed_by_program(with(words, {"--estimate", "--json", "--quiet"}));
  if (printed.code != 0) return;  // what is in a file
  const Json told = parse_json(printed.out).at("result");
  const double estimated = *number_in(json_text(told.at("steps")));
  CountedLooks token;
  {
    const CancellationScope scope(token);
    (void)answer_of(subcommand, options);
  }
  const bool not_less = told.at("at_most") == Json(true) || estimated <= 2 * token.steps() + kFewSteps;
  require_same(not_less && token.steps() <= 2 * estimated + kFewSteps,
               "estimated " + std::to_string(estimated) + " steps, took " + std::to_string(token.steps()));
}

/// The input of an answer, asked again.
void check_echo(const std::string& subcommand, const Json& input, const Json& result) {
  const Json again = answer_of(subcommand, input);
  require_same(again.contains("result"), "the input is refused: " + json_text(input) + json_text(again));
  require_same(again.at("input") == input, "the input has another input: " + json_text(input) + json_text(again));
  require_same(without(again.at("result"), "conclusion") == result, "the input has another answer: " + json_text(again));
}

}  // namespace

std::int64_t Decisions::below(std::int64_t count) {
  std::int64_t number = 0;
  for (std::int64_t range = 1; range < count && !bytes_.empty(); range *= 256) {
    number = 256 * number + static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
  }
  return number % count;
}

Json Decisions::several(std::int64_t count, std::int64_t least, std::int64_t most) {
  Json values = Json::array();
  for (std::int64_t i = 0; i < count; ++i) values.push_back(between(least, most));
  return values;
}

bool check_answers(const std::string& subcommand, const Json& options) {
  const std::vector<std::string> words = typed_words(subcommand, options);
  asked_line.clear();
  for (const std::string& word : words) asked_line += word + " ";
  const Printed printed = printed_by_program(with(words, {"--json", "--quiet"}));
  const Json served = answer_of(subcommand, options);
  if (printed.code == cli::kExitBadInput) {
    require_same(served.contains("error"), "serve answers what is refused: " + printed.err);
    require_same(without_dashes(served.at("error").at("message").text()) == refusal_of(printed),
                 "serve refuses in other words: " + printed.err + json_text(served));
    return false;
  }
  const Json whole = parse_json(printed.out);
  const Json& result = whole.at("result");
  require_same(served.contains("result"), "serve refuses: " + json_text(served));
  require_same(served.at("input") == whole.at("input"), "serve has another input");
  require_same(without(served.at("result"), "conclusion") == without(result, "conclusion"),
               "serve has another answer:\n" + json_text(served.at("result")) + "\n" + json_text(result));
  const cli::Command& command = command_of(subcommand);
  if (has_option(command, "csv")) check_csv(words, result, printed.code);
  const bool of_one_launch = subcommand == "explain" && result.at("kernels").size() == 1;  // says it without a sentence
  if (!of_one_launch) check_text(words, result, printed.code);
  check_echo(subcommand, whole.at("input"), without(result, "conclusion"));
  if (has_option(command, "batch")) check_batch(subcommand, options, without(result, "conclusion"));
  check_sweep(subcommand, options, whole.at("input"), without(result, "conclusion"));
  check_advice(subcommand, options, result);
  if (has_option(command, "estimate")) check_estimate(words, subcommand, options);
  return true;
}

}  // namespace natten_sim::fuzz
