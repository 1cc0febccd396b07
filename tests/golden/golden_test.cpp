// The program's text on small scenarios, byte for byte. scripts/update_golden.sh rewrites the files; review
// the diff.
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace golden_test {

namespace fs = std::filesystem;

TEST_CASE("text for people has not changed unnoticed") {
  const fs::path folder = fs::path(natten_sim::test::kSourceDir) / "tests" / "golden" / "scenarios";
  std::size_t scenarios = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    ++scenarios;
    // First line: the arguments behind "$ natten-sim "; the rest: stdout.
    const std::string text = natten_sim::test::read_text(entry.path().string());
    const std::string prompt = "$ natten-sim ";
    REQUIRE(text.starts_with(prompt));
    const std::size_t line_end = text.find('\n');
    INFO(entry.path().string());
    const auto done = natten_sim::test::run(text.substr(prompt.size(), line_end - prompt.size()));
    CHECK(done.exit_code == 0);
    CHECK(done.out == text.substr(line_end + 1));
  }
  CHECK(scenarios >= 17);
}

}  // namespace golden_test
