#include "cli/sources.hpp"

#include <algorithm>
#include <utility>

#include <natten_sim/core/conflict.hpp>

#include "cli/option_value.hpp"

namespace natten_sim::cli {

void refuse_two_outputs(const Sources& sources) {
  const char* const format = sources.given("json") ? "--json" : sources.given("csv") ? "--csv" : nullptr;
  const auto words_of = [&](const char* name) {
    const Source* const source = sources.find(name);
    return source == nullptr ? std::nullopt : source->words;
  };
  const std::optional<std::vector<std::string>> picture = words_of("picture"), output = words_of("output");
  if (picture && format != nullptr && !output && picture->front() == "-")
    throw Conflict("--picture -", format, std::string("a file, or --output FILE for the answer of ") + format);
  if (picture && picture == output) throw InvalidParameter("picture", picture->front(), "another file than --output");
}

Sources::Sources(const Command& command)
    : command_(&command),
      sources_(command.options.size() + (command.positional.empty() ? 0 : 1) + command.keys.size()) {}

bool Sources::is_flag(std::size_t option) const {
  return option < command_->options.size() && command_->options[option].value_name.empty();
}

std::string Sources::name(std::size_t option) const {
  if (option < command_->options.size()) return command_->options[option].name();
  option -= command_->options.size();
  if (command_->positional.empty()) return command_->keys[option].key;
  return option == 0 ? command_->positional : command_->keys[option - 1].key;
}

const Source* Sources::find(std::string_view name) const {
  const auto& options = command_->options;
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const OptionSpec& spec) { return spec.is_called(name); });
  if (found != options.end()) return &sources_[static_cast<std::size_t>(found - options.begin())];
  return name == command_->positional && !name.empty() ? &sources_[options.size()] : nullptr;
}

bool Sources::given(std::string_view name) const {
  const Source* const source = find(name);
  return source != nullptr && source->given();
}

void Sources::set(std::size_t option, const std::string& spelled, Json value) {
  if (value.is_null()) return;
  Source& source = sources_[option] = {};
  source.spelled = spelled;
  if (!is_flag(option)) {
    source.value = std::move(value);
    return;
  }
  const std::vector<std::string> words = words_of(spelled, value);
  if (words.size() != 1) throw InvalidParameter(spelled, std::to_string(words.size()) + " values", "one value");
  source.off = !OptionValue<bool>::from_words(spelled, words, {});
  if (!source.off) source.words.emplace();
}

void check_company(const Sources& sources) {
  const Command& command = sources.command();
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    if (!sources[i].given()) continue;
    const OptionSpec& spec = command.options[i];
    for (const std::string& other : spec.excludes) {
      if (!sources.given(other)) continue;
      throw Conflict("--" + spec.name(), "--" + other);
    }
    for (const std::string& other : spec.rules_out.options) {
      if (!sources.given(other)) continue;
      throw Conflict("--" + other, "--" + spec.name(), spec.rules_out.accepted);
    }
    for (const std::string& other : spec.needs) {
      if (!sources.given(other)) throw Missing("--" + spec.name(), "--" + other);
    }
  }
}

}  // namespace natten_sim::cli
