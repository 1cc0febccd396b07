#include "cli/invocation.hpp"

#include <algorithm>

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
      "svg",  "html", "report", "perfetto",   "pages",          "out",        "output",
      "save", "csv",  "batch",  "checkpoint", "profile-device", "max-memory", "max-time"};
  const std::string name = spec.name();
  return !name.starts_with("emit-") && !name.starts_with("svg-") &&
         std::find(kOfARun.begin(), kOfARun.end(), name) == kOfARun.end();
}

Invocation::Invocation(const std::string& subcommand, const std::vector<Command>& commands) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& command) {
    return command.name == subcommand && gives_json(command);
  });
  if (found == commands.end()) {
    const std::vector<std::string> names = names_with_json(commands);
    throw UnknownName("subcommand", subcommand, closest_name(subcommand, names), joined(names));
  }
  command_ = &*found;
  // Many answers are read by programs; a question that says otherwise gets its sentence.
  for (std::size_t i = 0; i < command_->options.size(); ++i) {
    if (command_->options[i].name() == kNoConclusion) values_.emplace(i, std::vector<std::string>{});
  }
}

std::size_t Invocation::place(const std::string& option) const {
  const std::string flag = flag_of_key(option);
  const auto found =
      std::find_if(command_->options.begin(), command_->options.end(), [&](const OptionSpec& spec) {
        return spec.reads(flag) || (option.size() == 1 && spec.has_flag("-" + option));
      });
  if (found != command_->options.end()) {
    if (!is_of_each_answer(*found)) {
      throw InvalidParameter(found->name(), "given for one answer of many",
                             found->name() == "csv" ? "no format: sweep prints CSV, serve JSON"
                                                    : "a run of '" + command_->name + "' of its own");
    }
    return static_cast<std::size_t>(found - command_->options.begin());
  }
  if (!command_->positional.empty() && flag == "--" + command_->positional) return command_->options.size();
  std::vector<std::string> names;
  for (const OptionSpec& spec : command_->options) {
    if (is_of_each_answer(spec)) names.push_back(spec.name());
  }
  throw UnknownName("option of " + command_->name, option, closest_name(option, names), joined(names));
}

const OptionSpec& Invocation::option(const std::string& name) const {
  const std::size_t index = place(name);
  if (index == command_->options.size())
    throw InvalidParameter(name, "the positional argument", "an option of " + command_->name);
  return command_->options[index];
}

void Invocation::set(const std::string& option, std::vector<std::string> words) {
  const std::size_t index = place(option);
  const bool flag = index < command_->options.size() && command_->options[index].value_name.empty();
  if (flag && !words.empty()) {
    if (words.size() > 1 || (words.front() != "true" && words.front() != "false"))
      throw InvalidParameter(option, "'" + joined(words, " ") + "'", "true or false");
    values_.erase(index);
    if (words.front() == "false") return;
    words.clear();
  }
  values_.insert_or_assign(index, std::move(words));
}

void Invocation::set(const std::string& option, FileValue value) {
  const std::size_t index = place(option);
  const bool positional = index == command_->options.size();
  const auto most =
      static_cast<std::size_t>(positional ? command_->max_positional : command_->options[index].max_values);
  if (value.size() == 0 || value.size() > most) {
    throw InvalidParameter(option, std::to_string(value.size()) + " values",
                           most == 1 ? "one value" : "1 to " + std::to_string(most) + " values");
  }
  if (!positional && command_->options[index].value_name.empty()) return set(option, value.words());
  values_.insert_or_assign(index, std::move(value));
}

std::string Invocation::answer() const {
  static const std::vector<std::string> kOn;
  Sources sources(*command_);
  for (const auto& [index, value] : values_) {
    if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
      sources[index].words = words;
    } else {
      sources[index].file = std::get<FileValue>(value);
    }
  }
  for (std::size_t i = 0; i < command_->options.size(); ++i) {
    const std::string& name = sources.name(i);
    if (name == "json" || name == "quiet") sources[i].words = &kOn;
  }
  check_company(*command_, sources);
  const CapturedOutput output;
  (void)cli::answer(*command_, sources);
  return output.text();
}

}  // namespace natten_sim::cli
