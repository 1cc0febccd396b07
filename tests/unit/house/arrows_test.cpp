// DESIGN's arrows between rooms: a room includes only what it points to. Reads the sources, not the build.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "places.hpp"

namespace arrows_test {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kMaxFileLines = 400;
constexpr std::size_t kMaxFunctionLines = 60;

/// Room -> rooms that it may include besides itself. A picture knows nothing of what it shows.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"core", {}},
    {"io", {"core"}},
    {"sim", {"core"}},
    {"models", {"core"}},
    {"search", {"models", "sim", "core"}},
    {"study", {"search", "models", "sim", "io", "core"}},
    {"kernels", {"core"}},
    {"validate", {"kernels", "study", "search", "models", "sim", "io", "core"}},
    {"report/draw", {}},
    {"report", {"report/draw", "study", "validate", "io", "core"}},
    {"apps",
     {"report", "report/draw", "validate", "kernels", "study", "search", "models", "sim", "io", "core"}},
};

/// The room of a path below the project's root: its first folder, or report/draw.
std::string room_of(const fs::path& relative) {
  std::string room = relative.begin()->string();
  const std::string path = relative.generic_string();
  const bool drawn = path.starts_with("report/src/draw/") ||
                     path.starts_with("report/include/natten_sim/report/draw/");
  return drawn ? "report/draw" : room;
}

/// The room that an include names, empty for what is not the project's or is beside the including file.
std::string included_room(const std::string& line) {
  static const std::regex kPublic(R"(^[ \t]*#[ \t]*include[ \t]*[<"](?:[^">]*/)?natten_sim/([a-z_]+)/(draw/)?)");
  static const std::regex kSource(R"re(^[ \t]*#[ \t]*include[ \t]*[<"](?:\.\./)*([a-z_]+)/(?:src|include)/)re");
  std::smatch match;
  if (std::regex_search(line, match, kPublic))
    return match[1].str() == "report" && match[2].matched ? "report/draw" : match[1].str();
  return std::regex_search(line, match, kSource) ? match[1].str() : "";
}

/// Whether an include reads sources of another room, however it gets there.
bool reads_foreign_source(const std::string& room, const std::string& line) {
  static const std::regex kSource(R"re(^[ \t]*#[ \t]*include[ \t]*[<"](?:\.\./|[^">]*/)*([a-z_]+)/src/)re");
  std::smatch match;
  return std::regex_search(line, match, kSource) && match[1].str() != room;
}

/// Lines of one file's text that include what `room` does not point to, or another room's sources.
std::vector<std::string> violations(const std::string& room, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string included = included_room(line);
    const bool allowed = included.empty() || included == room || kArrows.at(room).contains(included);
    if (!allowed || reads_foreign_source(room, line)) found.push_back(line);
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

const fs::path kRoot = natten_sim::test::kSourceDir;

/// Sources below the folders of the root, by their paths from it.
std::vector<fs::path> sources_of(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file() && is_source(entry.path()))
        files.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  return files;
}

const std::vector<std::string> kRooms = {"core",     "io",     "sim",    "models", "search", "study",
                                         "kernels", "validate", "report", "apps"};

TEST_CASE("no room includes a room that it does not point to, nor another room's sources") {
  const std::vector<fs::path> files = sources_of(kRooms);
  for (const fs::path& file : files) {
    for (const std::string& line : violations(room_of(file), read(kRoot / file)))
      FAIL_CHECK(file.string() << ": " << line);
  }
  CHECK(files.size() > 200);
}

TEST_CASE("the arrow check finds a planted violation") {
  for (const auto& [room, line] : std::vector<std::pair<std::string, std::string>>{
           {"models", "#include <natten_sim/sim/tiles/tile_walk.hpp>"},
           {"sim", "  # include \"../../models/src/axis_band.hpp\""},
           {"core", "#include <natten_sim/search/windows/search.hpp>"},
           {"search", "#include \"../study/src/context.hpp\""},
           {"validate", "#include <natten_sim/report/draw/curve.hpp>"},
           {"validate", "#include \"../../kernels/src/attention/tiles.hpp\""},
           {"apps", "#include \"report/src/draw/xy_frame.hpp\""},
           {"report/draw", "#include <natten_sim/report/json.hpp>"},
           {"report/draw", "#include <natten_sim/core/error.hpp>"}}) {
    INFO(room << ": " << line);
    CHECK(violations(room, line + "\n").size() == 1);
  }
  CHECK(violations("search", "#include <natten_sim/sim/tiles/tile_walk.hpp>\n#include <natten_sim/core/mask.hpp>\n")
            .empty());
  CHECK(violations("report", "#include <natten_sim/report/draw/curve.hpp>\n#include \"draw/xy.hpp\"\n").empty());
}

TEST_CASE("every folder with sources is a room, and every room is there") {
  const std::set<std::string> others = {"tests", "bench", "docs", "scripts", "cmake", "data", "python", "build"};
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with(".") || name.starts_with("build") || others.contains(name))
      continue;
    INFO(name);
    CHECK(std::find(kRooms.begin(), kRooms.end(), name) != kRooms.end());
  }
  for (const std::string& room : kRooms) CHECK(fs::is_directory(kRoot / room));
}

TEST_CASE("every public header lies in the folder of its room and starts with pragma once") {
  for (const std::string& room : kRooms) {
    if (room == "apps") continue;
    const fs::path include = kRoot / room / "include";
    const std::string folder = (include / "natten_sim" / room).generic_string() + "/";
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(include)) {
      if (!entry.is_regular_file()) continue;
      INFO(entry.path().string());
      CHECK(entry.path().generic_string().starts_with(folder));
      CHECK(read(entry.path()).starts_with("#pragma once\n"));
    }
  }
}

/// Functions of a formatted file with more lines than `most`: from a line at the left edge, or two from it
/// within a class, that opens a brace, to the brace that closes it at the same distance.
std::vector<std::string> long_functions(const std::string& text, std::size_t most) {
  static const std::regex kHead(R"(^( {0,2})[A-Za-z_\[~].*\)[ a-z&\->_:<>]*\{$)");
  static const std::regex kOther(R"(^ *(if|for|while|switch|TEST_CASE|namespace|do|else)\b.*|.*\[[&=\]].*)");
  std::vector<std::string> found;
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_match(lines[i], kHead) || std::regex_match(lines[i], kOther)) continue;
    const std::string close = std::string(lines[i].find_first_not_of(' '), ' ') + "}";
    std::size_t end = i + 1;
    while (end < lines.size() && lines[end] != close) ++end;
    // A table is a function whose lines are rows, most of them.
    const auto rows = static_cast<std::size_t>(
        std::count_if(lines.begin() + static_cast<std::ptrdiff_t>(i),
                      lines.begin() + static_cast<std::ptrdiff_t>(std::min(end, lines.size())),
                      [](const std::string& line) {
                        return line.find("add(") != std::string::npos || line.ends_with("},") ||
                               line.find('"') != std::string::npos;
                      }));
    if (end < lines.size() && end - i + 1 > most && 2 * rows < end - i) found.push_back(lines[i]);
  }
  return found;
}

TEST_CASE("no file has more than 400 lines, no function more than 60 unless it is a table") {
  for (const fs::path& file : sources_of(kRooms)) {
    const std::string text = read(kRoot / file);
    INFO(file.string());
    CHECK(std::count(text.begin(), text.end(), '\n') <= kMaxFileLines);
    for (const std::string& head : long_functions(text, kMaxFunctionLines))
      FAIL_CHECK(file.string() << ": more than 60 lines: " << head);
  }
  for (const fs::path& file : sources_of({"tests", "bench", "python"})) {
    const std::string text = read(kRoot / file);
    INFO(file.string());
    CHECK(std::count(text.begin(), text.end(), '\n') <= kMaxFileLines);
  }
}

TEST_CASE("the length check finds a long function, and leaves a table alone") {
  std::string body, table;
  for (int i = 0; i < 70; ++i) body += "  ++n;\n";
  for (int i = 0; i < 70; ++i) table += "  rows.add(\"--flag\");\n";
  CHECK(long_functions("int f(int n) {\n" + body + "}\n", kMaxFunctionLines).size() == 1);
  CHECK(long_functions("struct S {\n  int f(int n) const {\n" + body + "  }\n};\n", kMaxFunctionLines).size() == 1);
  CHECK(long_functions("int f(int n) {\n  return n;\n}\n" + body, kMaxFunctionLines).empty());
  CHECK(long_functions("void f(Rows& rows) {\n" + table + "}\n", kMaxFunctionLines).empty());
}

TEST_CASE("no test's name holds a semicolon, at which CMake would split it into two that match nothing") {
  static const std::regex kName(
      R"re((TEST_CASE|TEST_CASE_METHOD|SCENARIO)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+))re");
  std::size_t names = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(kRoot / "tests")) {
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

}  // namespace arrows_test
