#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace natten_sim::test {

using Json = nlohmann::ordered_json;

/// What one run of natten-sim left behind.
struct Run {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs the program with these arguments (a shell-like line; single quotes group) and standard input.
[[nodiscard]] Run run(const std::string& line, const std::string& input = "");

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

/// A fresh folder that is removed at exit.
[[nodiscard]] std::string scratch_folder();
[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace natten_sim::test
