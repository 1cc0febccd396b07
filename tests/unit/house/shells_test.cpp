// Programs are started with words, never with a line that a shell reads: a path with a quote in it would be a
// command.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "catch.hpp"
#include "places.hpp"

namespace shells_test {

namespace fs = std::filesystem;

const fs::path kRoot = natten_sim::test::kSourceDir;

bool asks_a_shell(const std::string& text) {
  static const std::regex kCall(R"(\b(popen|system|wordexp|execlp|execl|execle)[ \t]*\()");
  return std::regex_search(text, kCall);
}

bool asks_a_shell_in_python(const std::string& text) {
  static const std::regex kCall(R"(shell[ \t]*=[ \t]*True|\bos\.(system|popen)[ \t]*\()");
  return std::regex_search(text, kCall);
}

TEST_CASE("no source asks a shell to run a program") {
  std::size_t files = 0;
  for (const char* folder : {"core", "io", "sim", "models", "search", "study", "kernels", "validate",
                             "report", "apps", "python", "bench", "scripts"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string ending = entry.path().extension().string();
      const bool cpp = ending == ".cpp" || ending == ".hpp" || ending == ".cu" || ending == ".cuh";
      if (!entry.is_regular_file() || !(cpp || ending == ".py")) continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      INFO(entry.path().string());
      CHECK_FALSE((cpp ? asks_a_shell(text) : asks_a_shell_in_python(text)));
      ++files;
    }
  }
  CHECK(files > 800);
}

TEST_CASE("the check for shells finds a call, and leaves words that look like one alone") {
  CHECK(asks_a_shell("::popen(command.c_str(), \"r\")"));
  CHECK(asks_a_shell("std::system (line)"));
  CHECK_FALSE(asks_a_shell("throw std::system_error(code)"));
  CHECK_FALSE(asks_a_shell("file_system(path)"));
  CHECK_FALSE(asks_a_shell("posix_spawn(&child, path)"));
  CHECK(asks_a_shell_in_python("subprocess.run(line, shell=True)"));
  CHECK_FALSE(asks_a_shell_in_python("subprocess.run([\"sh\", path])"));
}

}  // namespace shells_test
