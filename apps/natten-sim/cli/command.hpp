#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/study/describe/about.hpp>

namespace natten_sim::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitInternalError = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitOutOfTolerance = 3;
inline constexpr int kExitHardwareAbsent = 4;

using study::OtherSpelling;
using study::RuledOut;

/// The most words that any option takes.
inline constexpr int kMostWords = 64;

/// One option as CLI11, help, completion and files see it. Subcommands declare typed rows (options.hpp), which
/// have one each.
struct OptionSpec {
  std::string flags;       ///< "-i,--input": the first long flag names the option everywhere else
  std::string value_name;  ///< empty: a flag, which takes no value, or true or false after '='
  std::string help;
  int max_values = 1;   ///< 4 for one value an axis
  bool text = false;    ///< its values are names or texts: no numbers, no booleans
  bool may_be_empty = false;  ///< a list, and an empty one is a value
  std::string choices;  ///< space-separated closed set, for completion and checks; empty: open
  std::string other_choices = {};  ///< names that are read too, and not listed
  std::string range = {};  ///< of whole numbers: "1..1024"; empty: any, or no number
  std::vector<std::string> excludes = {};  ///< options before it that exclude it
  std::vector<std::string> needs = {};
  RuledOut rules_out = {};  ///< the message names the other option as the one at fault
  std::vector<OtherSpelling> spellings = {};
  /// Names that completion proposes, where others are valid too: those of the catalog.
  std::vector<std::string> (*suggestions)() = nullptr;
  std::string group = {};   ///< heading of --help that it stands under
  bool essential = false;   ///< -h shows it too
  std::string key = {};     ///< of `input`

  [[nodiscard]] std::string name() const;  ///< first long flag without dashes
  [[nodiscard]] bool is_called(std::string_view name) const;
  /// What a key of a file, a request or a line may be that means it, with underscores: its own key, its
  /// flags and letter, and other spellings. Those that go with some values alone are not among them.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool has_flag(const std::string& flag) const;
  /// Its own flag, or a spelling of it.
  [[nodiscard]] bool spells(const std::string& flag) const;
  /// The same without spellings that go with some values alone.
  [[nodiscard]] bool reads(const std::string& flag) const;
};

/// The long flag that a key of a file or a request names: kv_tile and kv-tile are --kv-tile.
[[nodiscard]] std::string flag_of_key(std::string key);

class Reply;
class Sources;

/// Which options of a subcommand were given, on the command line or in its file of options.
class Given {
 public:
  /// `sources` outlive it.
  explicit Given(const Sources& sources) : sources_(&sources) {}
  [[nodiscard]] bool has(const std::string& name) const;

 private:
  const Sources* sources_;
};

/// The question of one run: takes options one by one, by their place in Command::options (the positional
/// argument stands after them, then Command::keys), and is then answered. @throws Error naming the option and
/// what it accepts.
class Form {
 public:
  Form() = default;
  Form(const Form&) = delete;
  Form& operator=(const Form&) = delete;
  virtual ~Form() = default;
  /// The words of the command line; none for a flag.
  virtual void take(std::size_t option, const std::vector<std::string>& words) = 0;
  /// A value of a file or a request, which spells the option so.
  virtual void take(std::size_t option, const std::string& spelled, const Json& value) = 0;
  /// @return the exit code
  virtual int answer(const Given& given, Reply& reply) = 0;
};

/// The option that names a TOML file of options, in every subcommand.
inline constexpr const char* kOptionsFile = "config";

// Headings of help: options that every subcommand has, and kinds of subcommands.
inline constexpr const char* kFilesGroup = "Your own devices, presets and times";
inline constexpr const char* kOutputGroup = "Output";
inline constexpr const char* kPictureGroup = "Pictures and tables";
inline constexpr const char* kQuestionCommands = "Questions";
inline constexpr const char* kManyCommands = "Many questions, many answers";
inline constexpr const char* kMeasuredCommands = "Against measurements and papers";
inline constexpr const char* kHelpCommands = "Names, completion, manual";

struct Command {
  std::string name;
  int position = 75;  ///< in help: smaller first; the built-in ones are 10 to 101
  std::string group = "Others";  ///< heading of the program's help that it stands under
  std::string summary;
  std::vector<std::string> examples;  ///< command lines, first in help
  std::string notes;                  ///< paragraphs for --help; a line that begins with a space stands as it is
  std::string exit_codes;
  std::vector<OptionSpec> options;
  std::vector<std::string> without_effect = {};  ///< flags of NATTEN's profiler that are read and change no answer
  std::vector<OptionSpec> keys;  ///< of `input`, which no option of the command line sets
  std::function<std::unique_ptr<Form>()> begin;  ///< a form with the defaults, for one run
  std::function<Json()> input_schema;  ///< JSON Schema of the `input` of --json
  Json (*result_schema)() = nullptr;   ///< JSON Schema of the `result` of --json, without a conclusion
  std::string positional;  ///< name of the one positional argument, empty: none
  std::vector<std::string> positional_keys;  ///< its names in `input`, files and requests
  std::string positional_help;
  std::string positional_choices;
  /// Names that completion proposes for it, in place of the choices.
  std::vector<std::string> (*positional_suggestions)() = nullptr;
  int max_positional = 1;  ///< how many of it may be given
  /// The positional argument takes all words that are no options of its own, in order: another subcommand
  /// with its options.
  bool passes_on = false;
};

/// Parses, merges --config, runs the subcommand and maps every failure to an exit code and a message on
/// stderr.
int run_program(int argc, char** argv, const std::vector<Command>& commands);

}  // namespace natten_sim::cli
