#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace natten_sim::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitInternalError = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitOutOfTolerance = 3;
inline constexpr int kExitHardwareAbsent = 4;

/// One option of a subcommand. Values stay text here; commands parse them, so that every message about a
/// value has the same form.
struct OptionSpec {
  std::string flags;       ///< "-i,--input": the first long flag names the option everywhere else
  std::string value_name;  ///< empty: a flag without value
  std::string help;
  int most_values = 1;  ///< 4 for one value an axis
  std::string choices;  ///< space-separated closed set, for completion and checks; empty: open

  [[nodiscard]] std::string name() const;  ///< first long flag without dashes
  [[nodiscard]] bool has_flag(const std::string& flag) const;
};

/// Values by option name: from the command line, else from --config.
class Arguments {
 public:
  void set(const std::string& name, std::vector<std::string> values) { values_[name] = std::move(values); }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  /// Empty when absent.
  [[nodiscard]] const std::vector<std::string>& values(const std::string& name) const;
  /// The one value, or the fallback when absent.
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback = "") const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
  std::string name;
  std::string summary;
  std::string footer;  ///< examples and exit codes, below the options of --help
  std::vector<OptionSpec> options;
  std::function<int(const Arguments&)> run;
  std::string positional;  ///< name of the one positional argument, empty: none
  std::string positional_help;
  std::string positional_choices;
  /// The option that names a TOML file of options: `msda` has another use for --config.
  std::string options_file = "config";
  int most_positional = 1;  ///< how many of it may be given
};

/// Parses, merges --config, runs the subcommand and maps every failure to an exit code and a message on
/// stderr.
int run_program(int argc, char** argv, const std::vector<Command>& commands);

/// Pairs of options that exclude each other, in any subcommand that has both.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& rival_options();

/// Options that every subcommand has; `options_file` as in Command.
[[nodiscard]] std::vector<OptionSpec> output_options(const std::string& options_file = "config");

}  // namespace natten_sim::cli
