#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/option_names.hpp"
#include "cli/reply.hpp"
#include "cli/sources.hpp"

namespace natten_sim::cli {

/// Whether a subcommand has --json, so that others can ask it.
[[nodiscard]] bool gives_json(const Command& command);
[[nodiscard]] std::vector<std::string> names_with_json(const std::vector<Command>& commands);

/// A subcommand inside another one: its options, set one by one, and its answer as JSON. Copies are
/// independent, and threads may ask one each.
///
///     Invocation reuse = parse_invocation({"reuse", "-d", "64", "--device", "h200"}, commands());
///     reuse.replace("seqlen", 65536);
///     JsonAnswer answer = reuse.answer();  // what `natten-sim reuse -d 64 ... --json` prints
class Invocation {
 public:
  /// Without options. @throws UnknownName; InvalidParameter for a subcommand that has no --json
  Invocation(const std::string& subcommand, const std::vector<Command>& commands);

  [[nodiscard]] const Command& command() const { return sources_.command(); }
  /// The option that the name means, as OptionNames has it. @throws UnknownName
  [[nodiscard]] const OptionSpec& option(const std::string& name) const;
  /// Instead of what it had: words as on the command line; of a flag none, or true, false, 1 or 0.
  void set(const std::string& option, std::vector<std::string> words);
  /// The same by a value; a text is a word.
  void replace(const std::string& option, const Json& value);
  /// A value of a file or a request, once; null: as if it were not given.
  void set(const std::string& option, Json value);

  /// What the subcommand answers, as values.
  /// @throws Error as the subcommand does
  [[nodiscard]] JsonAnswer answer() const;

 private:
  [[nodiscard]] std::size_t known_place(const std::string& option, const Json& value) const;
  [[nodiscard]] std::size_t place(const std::string& option, const Json& value) const;
  void put(std::size_t index, const std::string& option, Json value);
  /// Turns a flag on that is not given.
  void assume(std::size_t flag);

  Sources sources_;
  std::shared_ptr<const OptionNames> names_;
};

/// Whether a question among many may set the option: files, pictures and limits are of a run of its own.
[[nodiscard]] bool is_of_each_answer(const OptionSpec& spec);

/// From words of a command line, the subcommand's name first; a file of options counts too.
/// @throws UsageError, Error
[[nodiscard]] Invocation parse_invocation(const std::vector<std::string>& words,
                                          const std::vector<Command>& commands);

}  // namespace natten_sim::cli
