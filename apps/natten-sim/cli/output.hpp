#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/files.hpp>

#include "cli/limits.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"

namespace natten_sim::cli {

/// Whether this build answers in JSON alone, as the module in a browser does. What prints and draws for
/// people is then left out of it.
#ifdef NATTEN_SIM_JSON_ALONE
inline constexpr bool kJsonAlone = true;
#else
inline constexpr bool kJsonAlone = false;
#endif
/// @throws InvalidParameter: this build does not have what the option asks for.
[[noreturn]] void refuse_beyond_json(const std::string& option);

/// The colours of a picture.
enum class PictureScheme { kReader, kLight, kDark };

/// The output options of every subcommand.
struct OutputFlags {
  bool json = false;
  bool csv = false;
  std::optional<std::string> output;  ///< none: standard output
  ColorWhen color = ColorWhen::kAuto;
  bool quiet = false;
  bool conclusion = true;                   ///< whether an answer ends with what it comes down to
  std::optional<std::string> picture;       ///< file, or -: standard output; none: no picture
  std::optional<std::string> picture_kind;  ///< none: the first that fits the answer
  std::optional<std::string> picture_width;  ///< a template's column or a length; none: as it is drawn
  double picture_font_pt = 8;                ///< of most text, with picture_width
  PictureScheme picture_scheme = PictureScheme::kReader;
  std::optional<std::string> table;         ///< file; none: no table
  std::vector<std::string> table_columns;   ///< empty: those that the answer names
  bool estimate = false;                    ///< what the answer takes in place of it
  std::optional<std::string> options_file;  ///< merged before the rows are read
  LimitFlags limits;                        ///< kept by run_program
};

[[nodiscard]] Options<OutputFlags> output_rows();

/// The option of subcommands whose answers end with a conclusion.
inline constexpr const char* kNoConclusion = "no-conclusion";
[[nodiscard]] Options<OutputFlags> conclusion_rows();

/// The device or disk refused what was written.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Standard output or a file, which appears complete or not at all, at commit(). Buffered standard output
/// appears whole at commit(); streamed, at once.
class OutputSink {
 public:
  enum class Mode { kBuffered, kStreamed };

  /// No path: standard output. @throws InvalidParameter when the file cannot be created, or when another
  /// option of this run writes it.
  OutputSink(const std::optional<std::string>& path, Mode mode);
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;

  void write(std::string_view text);
  /// Lets a reader have what was streamed so far. @throws WriteError
  void flush();
  /// @throws WriteError when anything could not be written.
  void commit();

 private:
  void put(std::string_view text);
  [[noreturn]] void fail() const;

  Mode mode_;
  std::optional<ReplacedFile> file_;  ///< none: standard output
  std::FILE* stream_;
  std::string buffer_;
};

/// `text` with a closing sentence that stands out, where people read it in colours.
[[nodiscard]] std::string emphasised(const OutputFlags& flags, const std::string& text);

/// Writes `text` to the file of --output, or to standard output. Names come from files: control characters
/// and bytes that are no UTF-8 become U+FFFD, so that they cannot steer a terminal.
void write_output(const OutputFlags& flags, std::string_view text);

/// Writes `text`, such as a picture, to standard output now. What this run would print as its answer is left
/// out then, unless it goes to a file.
void write_in_place_of_answer(std::string_view text);

/// Writes `text` to `path`, complete or not at all.
void write_file(const std::string& path, std::string_view text);

/// What a line on stderr begins with.
struct RemarkKind {
  Emphasis emphasis = Emphasis::kHeading;
  std::string label = {};
};

/// A line on stderr, as clean as write_output makes it.
void print_remark(std::string_view text, const RemarkKind& kind = {});

/// Remarks on stderr, silent with --quiet.
class Notes {
 public:
  explicit Notes(const OutputFlags& flags) : quiet_(flags.quiet) {}
  void note(const std::string& text) const;
  [[nodiscard]] bool quiet() const { return quiet_; }

 private:
  bool quiet_;
};

/// How far a task is and about how long it will still take, on stderr. A terminal sees a bar once the task
/// has taken a second. Elsewhere a line says so after 5 seconds, then after 10, 20, 40 and so on.
class ProgressBar {
 public:
  /// `why` it takes long is said once, before the first bar.
  ProgressBar(std::string label, bool quiet, std::string why = {});
  ~ProgressBar();
  void show(double fraction);
  /// Removes the bar from the line before something else is printed.
  void clear();
  /// For library calls; empty when nothing would ever be shown.
  [[nodiscard]] std::function<void(double)> callback();

 private:
  [[nodiscard]] bool is_due(double seconds);

  std::string label_, why_;
  bool enabled_, terminal_;
  bool drawn_ = false;
  int permille_ = -1;
  std::int64_t calls_ = 0;
  double next_line_s_ = 5;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace natten_sim::cli

template <>
struct natten_sim::NamesOf<natten_sim::cli::PictureScheme> {
  using Scheme = natten_sim::cli::PictureScheme;
  static constexpr const char* kConcept = "scheme";
  static constexpr Name<Scheme> kTable[] = {
      {Scheme::kReader, "reader"}, {Scheme::kLight, "light"}, {Scheme::kDark, "dark"}};
};
