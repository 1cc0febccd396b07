#include "cli/invocation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {

bool gives_json(const Command& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionSpec& spec) { return spec.name() == "json"; });
}

std::vector<std::string> names_with_json(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (gives_json(command)) names.push_back(command.name);
  }
  return names;
}

/// Many answers would fill one file, and share one limit. A batch is many answers already.
bool is_of_each_answer(const OptionSpec& spec) {
  static const std::vector<std::string> kOfARun = {
      "picture", "picture-kind", "picture-width", "picture-font", "picture-scheme", "table", "answer-table", "table-columns", "html", "report", "perfetto",   "pages",          "out",        "output",
      "save", "script", "csv",  "batch",  "with-input", "checkpoint", "profile-device", "max-memory", "max-time"};
  const std::string name = spec.name();
  return !name.starts_with("emit-") && std::find(kOfARun.begin(), kOfARun.end(), name) == kOfARun.end();
}

namespace {

const Command& command_with_json(const std::string& subcommand, const std::vector<Command>& commands) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& command) {
    return command.name == subcommand && gives_json(command);
  });
  if (found != commands.end()) return *found;
  const std::vector<std::string> names = names_with_json(commands);
  throw UnknownName("subcommand", subcommand, closest_name(subcommand, names), joined(names));
}

bool is_always_on(const OptionSpec& spec) { return spec.is_called("json") || spec.is_called("quiet"); }

}  // namespace

Invocation::Invocation(const std::string& subcommand, const std::vector<Command>& commands)
    : sources_(command_with_json(subcommand, commands)),
      names_(std::make_shared<OptionNames>(sources_.command())) {
  // Many answers are read by programs; a question that says otherwise gets its sentence.
  for (std::size_t i = 0; i < command().options.size(); ++i) {
    if (command().options[i].is_called(kNoConclusion) || is_always_on(command().options[i])) assume(i);
  }
}

std::size_t Invocation::known_place(const std::string& option, const Json& value) const {
  const std::optional<std::size_t> found = names_->find(option, value);
  const std::vector<OptionSpec>& options = command().options;
  if (!found) {
    std::vector<std::string> names;
    for (const OptionSpec& spec : options) {
      if (is_of_each_answer(spec)) names.push_back(spec.name());
    }
    throw UnknownName("option of " + command().name, option, closest_name(option, names), joined(names));
  }
  return *found;
}

std::size_t Invocation::place(const std::string& option, const Json& value) const {
  const std::size_t found = known_place(option, value);
  const std::vector<OptionSpec>& options = command().options;
  if (found < options.size() && !is_of_each_answer(options[found])) {
    const std::string name = options[found].name();
    throw InvalidParameter(name, "given for one answer of many",
                           name == "csv" ? "no format: sweep prints CSV, serve JSON"
                                         : "a run of '" + command().name + "' of its own");
  }
  return found;
}

const OptionSpec& Invocation::option(const std::string& name) const {
  const std::size_t index = place(name, nullptr);
  if (index < command().options.size()) return command().options[index];
  throw InvalidParameter(name, command().positional.empty() ? "set by other options" : "the positional argument",
                         "an option of " + command().name);
}

void Invocation::set(const std::string& option, std::vector<std::string> words) {
  const std::size_t index = place(option, words.size() == 1 ? Json(words.front()) : Json());
  const bool flag = index < command().options.size() && command().options[index].value_name.empty();
  if (flag && !words.empty()) return put(index, option, Json(words));
  sources_[index] = {};
  sources_[index].words = std::move(words);
}

void Invocation::replace(const std::string& option, const Json& value) {
  if (value.is_string()) return set(option, std::vector<std::string>{value.text()});
  put(place(option, value), option, value);
}

void Invocation::put(std::size_t index, const std::string& option, Json value) {
  sources_.set(index, option, std::move(value));
  if (index < command().options.size() && is_always_on(command().options[index])) assume(index);
}

void Invocation::assume(std::size_t flag) {
  sources_[flag].words.emplace();
  sources_[flag].assumed = true;
}

void Invocation::set(const std::string& option, Json value) {
  // Null is as if it were not given: an answer's `input` has it.
  const std::size_t index = value.is_null() ? known_place(option, value) : place(option, value);
  if (!sources_[index].spelled.empty()) throw InvalidParameter(option, "given twice", "each option once");
  put(index, option, std::move(value));
}

JsonAnswer Invocation::answer() const {
  check_company(sources_);
  const std::unique_ptr<Form> form = filled_form(sources_);
  Reply reply(Reply::Mode::kKept);
  (void)form->answer(Given(sources_), reply);
  return reply.take();
}

}  // namespace natten_sim::cli
