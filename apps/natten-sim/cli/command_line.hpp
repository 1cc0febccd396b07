#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/sources.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace natten_sim::cli {

/// A command line that is wrong before any value has a meaning: an unknown option, a missing value.
class UsageError : public std::runtime_error {
 public:
  UsageError(const std::string& message, std::string hint)
      : std::runtime_error(message), hint_(std::move(hint)) {}
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// CLI11's options of a subcommand, in the order of Sources. They keep the words.
using Declared = std::vector<const CLI::Option*>;

/// Adds the options of `command` to `app`.
[[nodiscard]] Declared declare(CLI::App& app, const Command& command);

/// Where the options of a parsed `app` stand. `rest`: the words that a subcommand passes on.
/// @throws InvalidParameter for a flag's value
[[nodiscard]] Sources sources_of(const Command& command, const Declared& declared,
                                 const std::vector<std::string>& rest);

/// `words` of the subcommand with the flags that its options are listed with, for other spellings of them.
/// `notes` gets a sentence for each spelling of an earlier version.
[[nodiscard]] std::vector<std::string> respelled(const Command& command, std::vector<std::string> words,
                                                 std::vector<std::string>& notes);

/// @param words of the subcommand, without its name. CLI11 would join the values of a repeated flag, and
/// `-w 3 -w 4` would become a window of two axes. @throws InvalidParameter
void refuse_repeats(const Command& command, const std::vector<std::string>& words);

/// CLI11's complaint `message` in our words, with the closest flag or subcommand as a hint.
/// @param chosen none: no subcommand was named. @param leftover what CLI11 could not place
[[nodiscard]] UsageError usage_error(const std::string& message, const std::vector<Command>& commands,
                                     const Command* chosen, const std::vector<std::string>& leftover);

}  // namespace natten_sim::cli
