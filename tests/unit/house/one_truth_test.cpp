// What a compiler does not see: flags named below the program, and a type that two files specialise.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "catch.hpp"
#include "places.hpp"

namespace one_truth_test {

namespace fs = std::filesystem;

const fs::path kRoot = natten_sim::test::kSourceDir;

template <typename Visit>
void for_each_line(const fs::path& folder, const std::string& extension, const Visit& visit) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != extension) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      visit(fs::relative(entry.path(), kRoot).generic_string(), line);
  }
}

/// A text that names an option of the program. `ncu --csv` is another program's.
bool names_a_flag(const std::string& line) {
  static const std::regex kFlag(R"re("[^"]*--[a-z][a-z-]+[^"]*")re");
  return std::regex_search(line, kFlag) && line.find("ncu --") == std::string::npos;
}

TEST_CASE("libraries name parameters, not flags: the program alone knows how they are spelled") {
  int lines = 0;
  for (const char* room : {"core", "io", "sim", "models", "search", "study", "kernels", "validate"}) {
    for_each_line(kRoot / room, ".cpp", [&](const std::string& file, const std::string& line) {
      ++lines;
      if (names_a_flag(line)) FAIL_CHECK(file << ": " << line);
    });
  }
  CHECK(lines > 5000);
  CHECK(names_a_flag(R"(throw InvalidParameter("input", "none", "give --preset NAME");)"));
  CHECK_FALSE(names_a_flag(R"(mention("preset") + " NAME"; --count;)"));
}

TEST_CASE("one file parses and prints JSON: no other includes the library for it") {
  std::set<std::string> files;
  for (const char* room : {"core", "io", "sim", "models", "search", "study", "kernels", "validate", "report", "apps"}) {
    for (const char* extension : {".cpp", ".hpp"}) {
      for_each_line(kRoot / room, extension, [&](const std::string& file, const std::string& line) {
        if (line.starts_with("#include <nlohmann/")) files.insert(file);
      });
    }
  }
  CHECK(files == std::set<std::string>{"io/src/json_text.cpp"});
}

TEST_CASE("no two files say how the same type is read from an option") {
  static const std::regex kSpecialised(R"(^struct OptionValue<(.+)> )");
  std::map<std::string, std::set<std::string>> files;
  for (const char* extension : {".cpp", ".hpp"}) {
    for_each_line(kRoot / "apps", extension, [&](const std::string& file, const std::string& line) {
      std::smatch match;
      if (std::regex_search(line, match, kSpecialised)) files[match[1].str()].insert(file);
    });
  }
  for (const auto& [type, places] : files) {
    INFO(type);
    CHECK(places.size() == 1);
  }
  CHECK(files.contains("std::vector<std::int64_t>"));
}

/// What `line` of an anonymous namespace defines: `struct Name`, or `name(` with its parameters. Empty:
/// neither.
std::string defined_name(const std::string& line) {
  static const std::regex kType(R"(^(struct|class|enum class|enum) (\w+)[^;]*$)");
  static const std::regex kFunction(R"(^\w[\w:<>,&*\[\] ]* [&*]?(\w+\([^;]*)\{$)");
  std::smatch match;
  if (std::regex_search(line, match, kType)) return match[1].str() + " " + match[2].str();
  if (std::regex_search(line, match, kFunction)) return match[1].str();
  return "";
}

/// Compilation in batches puts any files of a target into one: a name that two of them define stops it.
std::map<std::string, std::set<std::string>> anonymous_names(const fs::path& folder) {
  std::map<std::string, std::set<std::string>> files;
  std::string file;
  bool anonymous = false;
  for_each_line(folder, ".cpp", [&](const std::string& at, const std::string& line) {
    if (at != file) anonymous = false;
    file = at;
    if (line == "namespace {") anonymous = true;
    if (line.starts_with("}  // namespace")) anonymous = false;
    const std::string name = anonymous ? defined_name(line) : "";
    if (!name.empty()) files[name].insert(at);
  });
  return files;
}

TEST_CASE("no two files of a room define the same name in an anonymous namespace") {
  std::size_t names = 0;
  for (const char* room :
       {"core", "io", "sim", "models", "search", "study", "kernels", "validate", "report", "apps"}) {
    for (const auto& [name, files] : anonymous_names(kRoot / room)) {
      ++names;
      if (files.size() == 1) continue;
      INFO(name << " in " << *files.begin() << " and " << *std::next(files.begin()));
      CHECK(files.size() == 1);
    }
  }
  CHECK(names > 1000);
  CHECK(defined_name("Options<Flags> worker_rows() {") == "worker_rows() ");
  CHECK(defined_name("double mean(double a, double b) {") == "mean(double a, double b) ");
  CHECK(defined_name("class LineSource {") == "class LineSource");
  CHECK(defined_name("class LineSource;") == "");
  CHECK(defined_name("  int run() {") == "");  // a member
}

}  // namespace one_truth_test
