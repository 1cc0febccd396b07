#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace natten_sim::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitInternalError = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitOutOfTolerance = 3;
inline constexpr int kExitHardwareAbsent = 4;

/// An option that another one requires.
struct Need {
  std::string option;
  std::string accepted;      ///< what to give instead: "--ways N too"
  bool with_dashes = false;  ///< how the message names the option at fault
};

/// Options that make no sense beside this one, which is given.
struct RuledOut {
  std::vector<std::string> options = {};
  std::string accepted = "one of the two";
};

/// One option as CLI11, help, completion and TOML see it. Subcommands declare typed rows (options.hpp), which
/// have one each.
struct OptionSpec {
  std::string flags;       ///< "-i,--input": the first long flag names the option everywhere else
  std::string value_name;  ///< empty: a flag, which takes no value, or true or false after '='
  std::string help;
  int max_values = 1;   ///< 4 for one value an axis
  std::string choices;  ///< space-separated closed set, for completion and checks; empty: open
  std::vector<std::string> excludes = {};  ///< options before it that exclude it
  std::vector<Need> needs = {};
  RuledOut rules_out = {};  ///< the message names the other option as the one at fault

  [[nodiscard]] std::string name() const;  ///< first long flag without dashes
  [[nodiscard]] bool has_flag(const std::string& flag) const;
};

/// The words of each option that was given, by its name: from the command line, else from the file of
/// --config.
class Arguments {
 public:
  void set(const std::string& name, std::vector<std::string> values) { values_[name] = std::move(values); }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  /// A flag that was given as --flag=false: absent, and a file of options does not set it again.
  void turn_off(const std::string& name) { off_.insert(name); }
  [[nodiscard]] bool is_off(const std::string& name) const { return off_.contains(name); }
  /// Empty when absent.
  [[nodiscard]] const std::vector<std::string>& values(const std::string& name) const;
  /// The one value, or the fallback when absent.
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback = "") const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::set<std::string> off_;
};

struct Command {
  std::string name;
  int position = 75;    ///< in help: smaller first; the built-in ones are 10 to 100
  std::string summary;
  std::string footer;  ///< examples and exit codes, below the options of --help
  std::vector<OptionSpec> options;
  std::function<int(const Arguments&)> run;
  std::string positional;  ///< name of the one positional argument, empty: none
  std::string positional_help;
  std::string positional_choices;
  /// The option that names a TOML file of options: `msda` has another use for --config.
  std::string options_file = "config";
  int max_positional = 1;  ///< how many of it may be given
};

/// Parses, merges --config, runs the subcommand and maps every failure to an exit code and a message on
/// stderr.
int run_program(int argc, char** argv, const std::vector<Command>& commands);

}  // namespace natten_sim::cli
