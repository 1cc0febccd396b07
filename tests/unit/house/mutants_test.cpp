// Mutants that no test can see, each with the reason: scripts/mutate.py counts them as explained.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace mutants_test {

namespace fs = std::filesystem;

const fs::path kRoot = natten_sim::test::kSourceDir;

std::set<std::string> lines_of(const std::string& file) {
  std::ifstream in(kRoot / file);
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    lines.insert(line);
  }
  return lines;
}

TEST_CASE("an explained mutant is of a line that stands in its file, and says why no test can see it") {
  std::ifstream list(kRoot / "tests/mutants/equivalent.jsonl");
  REQUIRE(list);
  std::map<std::string, std::set<std::string>> lines;
  std::set<std::string> seen;
  for (std::string line; std::getline(list, line);) {
    INFO(line);
    const auto entry = nlohmann::json::parse(line);
    const std::string file = entry.at("file"), code = entry.at("code");
    if (!lines.contains(file)) lines[file] = lines_of(file);
    CHECK(lines[file].contains(code));
    CHECK_FALSE(entry.at("expression").get<std::string>().empty());
    CHECK_FALSE(entry.at("change").get<std::string>().empty());
    CHECK_FALSE(entry.at("why").get<std::string>().empty());
    CHECK(entry.value("places", 1) >= 1);
    CHECK(seen.insert(file + code + entry.at("expression").dump() + entry.at("change").dump()).second);
  }
  CHECK_FALSE(seen.empty());
}

}  // namespace mutants_test
