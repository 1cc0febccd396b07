#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Whether a subcommand has --json, so that others can ask it.
[[nodiscard]] bool gives_json(const Command& command);
[[nodiscard]] std::vector<std::string> names_with_json(const std::vector<Command>& commands);

/// A subcommand inside another one: its options, set one by one, and its answer as JSON. Copies are
/// independent, and threads may ask one each.
///
///     Invocation reuse = parse_invocation({"reuse", "-d", "64", "--device", "h200"}, commands());
///     reuse.set("seqlen", std::vector<std::string>{"65536"});
///     std::string json = reuse.answer();  // what `natten-sim reuse -d 64 ... --json` prints
class Invocation {
 public:
  /// Without options. @throws UnknownName; InvalidParameter for a subcommand that has no --json
  Invocation(const std::string& subcommand, const std::vector<Command>& commands);

  [[nodiscard]] const Command& command() const { return *command_; }
  /// The option of that name: kv-tile, kv_tile, another spelling of it or its letter. @throws UnknownName
  [[nodiscard]] const OptionSpec& option(const std::string& name) const;
  /// Instead of what it had. Words as on the command line; of a flag none, or true or false.
  void set(const std::string& option, std::vector<std::string> words);
  void set(const std::string& option, FileValue value);

  /// What the subcommand prints with --json.
  /// @throws Error as the subcommand does
  [[nodiscard]] std::string answer() const;

 private:
  using Value = std::variant<std::vector<std::string>, FileValue>;

  [[nodiscard]] std::size_t place(const std::string& option) const;

  const Command* command_;
  std::map<std::size_t, Value> values_;  ///< by place in Command::options; the positional argument after them
};

/// Whether a question among many may set the option: files, pictures and limits are of a run of its own.
[[nodiscard]] bool is_of_each_answer(const OptionSpec& spec);

/// From words of a command line, the subcommand's name first; a file of options counts too.
/// @throws UsageError, Error
[[nodiscard]] Invocation parse_invocation(const std::vector<std::string>& words,
                                          const std::vector<Command>& commands);

}  // namespace natten_sim::cli
