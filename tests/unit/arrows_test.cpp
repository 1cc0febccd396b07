// DESIGN's arrows between rooms: a room includes only what it points to. Reads the sources, not the build.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace fs = std::filesystem;

/// Room -> rooms that it may include besides itself.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"core", {}},
    {"sim", {"core"}},
    {"models", {"core"}},
    {"search", {"models", "sim", "core"}},
    {"kernels", {"core"}},
    {"validate", {"kernels", "models", "sim", "core"}},
    {"apps", {"core", "sim", "models", "search", "kernels", "validate"}},
};

/// Violations in one file's text: included rooms that `room` does not point to.
std::vector<std::string> violations(const std::string& room, const std::string& text) {
  static const std::regex kInclude(
      R"(^[ \t]*#[ \t]*include[ \t]*[<"](?:\.\./)*(?:include/)?natten_sim/([a-z_]+)/|^[ \t]*#[ \t]*include[ \t]*"(?:\.\./)+([a-z_]+)/(?:src|include)/)");
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string included = match[1].matched ? match[1].str() : match[2].str();
    if (included != room && !kArrows.at(room).contains(included)) found.push_back(line);
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".hpp" || extension == ".cpp" || extension == ".cu" || extension == ".cuh" ||
         extension == ".in";
}

TEST_CASE("no room includes a room that it does not point to") {
  std::size_t files = 0;
  for (const auto& [room, targets] : kArrows) {
    const fs::path folder = fs::path(NATTEN_SIM_SOURCE_DIR) / room;
    if (!fs::exists(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      ++files;
      for (const std::string& line : violations(room, read(entry.path()))) {
        FAIL_CHECK(entry.path().string() << " (" << room << "): " << line);
      }
    }
  }
  CHECK(files > 40);
}

TEST_CASE("the arrow check finds a planted violation") {
  CHECK(violations("models", "#include <natten_sim/sim/tile_walk.hpp>\n").size() == 1);
  CHECK(violations("sim", "  # include \"../../models/src/axis_band.hpp\"\n").size() == 1);
  CHECK(violations("core", "#include <natten_sim/search/search.hpp>\n").size() == 1);
  CHECK(violations("search", "#include <natten_sim/sim/tile_walk.hpp>\n#include <natten_sim/core/mask.hpp>\n")
            .empty());
}

TEST_CASE("every public header lies in the folder of its room and starts with pragma once") {
  for (const std::string room : {"core", "sim", "models", "search", "kernels", "validate"}) {
    const fs::path include = fs::path(NATTEN_SIM_SOURCE_DIR) / room / "include";
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(include)) {
      if (!entry.is_regular_file()) continue;
      INFO(entry.path().string());
      CHECK(entry.path().parent_path() == include / "natten_sim" / room);
      CHECK(read(entry.path()).starts_with("#pragma once\n"));
    }
  }
}

TEST_CASE("no test's name holds a semicolon, at which CMake would split it into two that match nothing") {
  static const std::regex kName(
      R"re((TEST_CASE|TEST_CASE_METHOD|SCENARIO)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+))re");
  std::size_t names = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(NATTEN_SIM_SOURCE_DIR) / "tests")) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    const std::string text = read(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), kName), end; match != end; ++match) {
      ++names;
      INFO(entry.path().string() << ": " << (*match)[2].str());
      CHECK((*match)[2].str().find(';') == std::string::npos);
    }
  }
  CHECK(names > 250);
}

}  // namespace
