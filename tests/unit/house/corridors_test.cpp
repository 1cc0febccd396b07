// docs/how-a-number-travels.md names functions and files: each exists, and a step's function stands in the file or
// the folder that the step names.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "places.hpp"

namespace corridors_test {

namespace fs = std::filesystem;

const fs::path kRoot = natten_sim::test::kSourceDir;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".cpp" || extension == ".hpp" || extension == ".js" || extension == ".py";
}

/// The text of a file, or of all sources of a folder.
std::string sources_of(const fs::path& path) {
  if (!fs::is_directory(path)) return text_of(path);
  std::string text;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && is_source(entry.path())) text += text_of(entry.path());
  }
  return text;
}

/// What stands between backticks.
std::vector<std::string> quoted(const std::string& text) {
  static const std::regex kQuoted("`([^`]+)`");
  std::vector<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), kQuoted), end; at != end; ++at) all.push_back((*at)[1]);
  return all;
}

bool is_path(const std::string& name) {
  static const std::regex kPath("[a-z0-9_/-]+(/|[.](cpp|hpp|md|js|py))");
  return std::regex_match(name, kPath);
}

/// "take" of `RowsForm<CountFlags>::take`, "to_json" of `to_json(ScheduleTable)`; empty: no name of the sources.
std::string function_of(const std::string& name) {
  static const std::regex kName(R"(([A-Za-z_]+(<\w+>)?::)*([A-Za-z_]+)(\([\w, ]*\))?)");
  std::smatch parts;
  return std::regex_match(name, parts, kName) ? parts[3].str() : "";
}

/// The names of the text, and those of them that are functions or types: a bracket follows them, or class or
/// struct stands before them.
struct Names {
  std::set<std::string, std::less<>> all, functions;

  void read(std::string_view text) {
    const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::string_view before;
    for (std::size_t at = 0; at < text.size();) {
      if (!is_letter(text[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text.size() && is_letter(text[end])) ++end;
      const std::string_view name = text.substr(at, end - at);
      const bool called = end < text.size() && (text[end] == '(' || text[end] == '<');
      all.emplace(name);
      if (called || before == "class" || before == "struct") functions.emplace(name);
      before = name;
      at = end;
    }
  }
};

/// A row of a table: | step or door | functions | files | .. |. Files without a folder are in that before them.
struct Step {
  std::vector<std::string> functions, files;
};

std::vector<Step> steps_of(const std::string& page) {
  std::vector<Step> steps;
  std::istringstream lines(page);
  static const std::regex kRow(R"(^\| [^|`-]+[^|]* \| (`[^|]*) \| (`[^|]*) \|.*)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, kRow)) continue;
    Step step{.functions = quoted(cells[1].str()), .files = {}};
    for (const std::string& file : quoted(cells[2].str())) {
      const bool alone = file.find('/') == std::string::npos && !step.files.empty();
      const std::string folder = alone ? step.files.back().substr(0, step.files.back().rfind('/') + 1) : "";
      step.files.push_back(folder + file);
    }
    steps.push_back(step);
  }
  return steps;
}

TEST_CASE("each step of a value's way stands in the file that the page names") {
  const std::vector<Step> steps = steps_of(text_of(kRoot / "docs/how-a-number-travels.md"));
  REQUIRE(steps.size() >= 20);
  for (const Step& step : steps) {
    REQUIRE_FALSE(step.functions.empty());
    REQUIRE_FALSE(step.files.empty());
    Names names;
    for (const std::string& file : step.files) {
      INFO(file);
      REQUIRE(fs::exists(kRoot / file));
      names.read(sources_of(kRoot / file));
    }
    for (const std::string& name : step.functions) {
      INFO(name << " in " << step.files.front());
      REQUIRE_FALSE(function_of(name).empty());
      CHECK(names.functions.contains(function_of(name)));
    }
  }
}

TEST_CASE("every other function and file that the page names exists") {
  Names names;
  for (const char* room : {"core", "io", "sim", "models", "search", "study", "report", "validate", "apps", "python"})
    names.read(sources_of(kRoot / room));
  int functions = 0, files = 0;
  const std::string page = text_of(kRoot / "docs/how-a-number-travels.md");
  for (const std::string& name : quoted(page)) {
    INFO(name);
    if (is_path(name)) {
      ++files;
      if (name.find('/') == std::string::npos) continue;  // in the folder of the one before it
      CHECK((fs::exists(kRoot / name) || fs::exists(kRoot / "report/include/natten_sim" / name)));
    } else if (name.find('_') != std::string::npos || name.find("::") != std::string::npos) {
      if (function_of(name).empty()) continue;
      ++functions;
      CHECK(names.all.contains(function_of(name)));
    }
  }
  CHECK(functions >= 40);
  CHECK(files >= 20);
}

TEST_CASE("a function that does not exist is found out") {
  Names names;
  names.read("struct Row {}; Json line_of(int width); auto kind = kind_of<Row>();");
  CHECK(names.functions == std::set<std::string, std::less<>>{"Row", "line_of", "kind_of"});
  CHECK(function_of("RowsForm<CountFlags>::take") == "take");
  CHECK(function_of("--batch").empty());
}

}  // namespace corridors_test
