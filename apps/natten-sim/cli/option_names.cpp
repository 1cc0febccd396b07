#include "cli/option_names.hpp"

#include <algorithm>

#include <natten_sim/io/given_value.hpp>

namespace natten_sim::cli {
namespace {

std::string underscored(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// Whether the first words of a value are one that the spelling goes with.
bool goes_with(const OtherSpelling& spelling, const Json& value) {
  return !value.is_array() && !value.is_object() && !value.is_null() &&
         spelling.with(words_of(spelling.flag, value).front());
}

}  // namespace

OptionNames::OptionNames(const Command& command) : command_(command) {
  const bool positional = !command.positional.empty();
  for (std::size_t i = 0; i < command.options.size(); ++i) places_.emplace(underscored(command.options[i].name()), i);
  if (positional) places_.emplace(underscored(command.positional), command.options.size());
  add(command.options, 0);
  for (const std::string& key : command.positional_keys) places_.emplace(key, command.options.size());
  add(command.keys, command.options.size() + (positional ? 1 : 0));
}

void OptionNames::add(const std::vector<OptionSpec>& options, std::size_t first) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const std::string& key : options[i].keys()) places_.emplace(key, first + i);
    for (const OtherSpelling& spelling : options[i].spellings) {
      if (spelling.with != nullptr) with_some_values_.emplace_back(&spelling, first + i);
    }
  }
}

std::optional<std::size_t> OptionNames::find(const std::string& key, const Json& value) const {
  for (const auto& [spelling, place] : with_some_values_) {
    if (spelling->flag == flag_of_key(key) && goes_with(*spelling, value)) return place;
  }
  auto found = places_.find(key);
  if (found == places_.end()) found = places_.find(underscored(key));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace natten_sim::cli
