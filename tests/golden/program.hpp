#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace natten_sim::test {

using Json = nlohmann::ordered_json;

/// What one run of natten-sim left behind.
struct Run {
  int exit_code = -1;  ///< -1: a signal ended it
  std::string out;
  std::string err;

  bool operator==(const Run&) const = default;
};

/// Runs the program on these words and this standard input, as a library in this process. Words are separated
/// by spaces, and single quotes group; nothing else is special.
///
/// A line that names a scratch folder runs in a forked copy of this process, because a process writes a file
/// at most once; one about a process itself (--max-memory, --max-time, classroom) is given a process of its
/// own. Any other line has one answer, which is kept: the same line is not asked twice.
/// @throws std::logic_error for a line that a shell would read otherwise
[[nodiscard]] Run run(const std::string& line, const std::string& input = "");

/// The same in a process of its own, for what belongs to a process: limits, signals, environment, threads
/// that cannot start. `environment` is added to that of this process.
[[nodiscard]] Run run_process(const std::string& line, const std::string& input = "",
                              const std::vector<std::string>& environment = {});

/// As `run`, with these variables added to the environment of this one run: "COLUMNS=60".
[[nodiscard]] Run run_with(const std::vector<std::string>& environment, const std::string& line,
                           const std::string& input = "");

/// A folder that holds these shipped recordings alone: "nvidia-h200-stream". All of them take most of a
/// second to read.
[[nodiscard]] std::string shipped_recordings(const std::vector<std::string>& names);

/// A folder that holds the rows of one shipped recording whose point satisfies `keep`.
[[nodiscard]] std::string part_of_recording(const std::string& name,
                                            const std::function<bool(const Json& point)>& keep);

/// Exit code of a shell command in which $PROGRAM is the program; its output is dropped unless redirected.
[[nodiscard]] int shell_exit_code(const std::string& command);

/// Runs with --json, requires exit 0 and the envelope, returns `result`, without the conclusion, which lines
/// of a batch, points of a sweep and answers of serve leave out.
[[nodiscard]] Json result_of(const std::string& line);
/// The conclusion alone; null where there is none.
[[nodiscard]] Json conclusion_of(const std::string& line);

/// Requires exit 2, nothing on stdout, and a message on stderr that holds each of the words.
void check_refused(const std::string& line, const std::vector<std::string>& words,
                   const std::string& input = "");
void check_refused(const Run& done, const std::string& line, const std::vector<std::string>& words);

/// A fresh folder that is removed at exit.
[[nodiscard]] std::string scratch_folder();
[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace natten_sim::test
