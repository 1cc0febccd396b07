#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/index_file.hpp>
#include <natten_sim/io/trace.hpp>

#include "catch.hpp"

namespace files_test {

using namespace natten_sim;
namespace fs = std::filesystem;

struct FilesFolder {
  fs::path path = fs::temp_directory_path() / ("natten-sim-files-" + std::to_string(::getpid()));
  FilesFolder() { fs::create_directories(path); }
  ~FilesFolder() { fs::remove_all(path); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path / name).string(); }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void replace(const std::string& path, const std::string& text) {
  ReplacedFile file("output", path);
  std::fputs(text.c_str(), file.stream());
  REQUIRE(file.commit());
}

TEST_CASE("a file appears at commit, complete, or the old one stays and nothing is left") {
  const FilesFolder folder;
  const std::string path = folder / "a";
  put(path, "old");
  {
    ReplacedFile file("output", path);
    std::fputs("half", file.stream());
    CHECK(folder.size() == 2);
  }
  CHECK(read_text("x", path) == "old");
  CHECK(folder.size() == 1);
  replace(path, "new");
  CHECK(read_text("x", path) == "new");
  CHECK(folder.size() == 1);
}

TEST_CASE("two writers of one path do not meet: the later commit wins, whole") {
  const FilesFolder folder;
  const std::string path = folder / "a";
  ReplacedFile first("output", path), second("output", path);
  std::fputs("first", first.stream());
  std::fputs("second", second.stream());
  REQUIRE(second.commit());
  REQUIRE(first.commit());
  CHECK(read_text("x", path) == "first");
  CHECK(folder.size() == 1);
}

TEST_CASE("links planted where a temporary file might go are not followed, and its name cannot be guessed") {
  const FilesFolder folder;
  put(folder / "victim", "untouched");
  const std::string own = std::to_string(::getpid());
  for (const std::string& name : {std::string("a.tmp"), "a.tmp" + own, ".natten-sim-" + own + ".tmp"})
    fs::create_symlink(folder / "victim", folder / name);
  const auto temporaries = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path)) {
      if (!entry.is_symlink() && entry.path().extension() == ".tmp") names.insert(entry.path().filename());
    }
    return names;
  };
  {
    ReplacedFile first("output", folder / "a"), second("output", folder / "a");
    const std::set<std::string> names = temporaries();
    REQUIRE(names.size() == 2);  // 128 random bits each
    for (const std::string& name : names) CHECK(name.size() == std::string(".natten-sim-.tmp").size() + 32);
  }
  CHECK(temporaries().empty());
  replace(folder / "a", "new");
  CHECK(read_text("x", folder / "a") == "new");
  CHECK(read_text("x", folder / "victim") == "untouched");
}

TEST_CASE("permissions of the old file and links are kept") {
  const FilesFolder folder;
  put(folder / "a", "old");
  ::chmod((folder / "a").c_str(), 0640);
  fs::create_symlink(folder / "a", folder / "link");
  replace(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_text("x", folder / "a") == "new");
  struct stat now {};
  ::stat((folder / "a").c_str(), &now);
  CHECK((now.st_mode & 07777) == 0640);
}

TEST_CASE("a path that cannot be written is an error that names it") {
  const FilesFolder folder;
  fs::create_symlink(folder / "b", folder / "c");
  fs::create_symlink(folder / "c", folder / "b");
  fs::create_symlink(folder / "nothing", folder / "d");
  for (const std::string& path :
       {folder.path.string(), folder / "b", folder / "d", folder / "no/such", folder / std::string(300, 'x')}) {
    INFO(path);
    CHECK_THROWS_AS(ReplacedFile("output", path), InvalidParameter);
  }
  CHECK(folder.size() == 3);
  // The name may be as long as the file system takes.
  replace(folder / std::string(255, 'x'), "new");
}

TEST_CASE("the temporary files can be removed from a signal handler") {
  const FilesFolder folder;
  ReplacedFile file("output", folder / "a");
  CHECK(folder.size() == 1);
  remove_temporary_files();
  CHECK(folder.size() == 0);
  CHECK_FALSE(file.commit());
}

TEST_CASE("a text is read up to its limit, and a folder, a missing file and an endless one are errors") {
  const FilesFolder folder;
  put(folder / "a", std::string(1000, 'a'));
  CHECK(read_text("x", folder / "a", 1000).size() == 1000);
  CHECK_THROWS_AS(read_text("x", folder / "a", 999), InvalidParameter);
  CHECK_THROWS_AS(read_text("x", folder.path.string()), InvalidParameter);
  CHECK_THROWS_AS(read_text("x", folder / "b"), InvalidParameter);
  CHECK_THROWS_AS(read_text("x", "/dev/zero", 1 << 20), InvalidParameter);
}

TEST_CASE("a path with a NUL byte is refused, and the message does not end there") {
  const FilesFolder folder;
  put(folder / "a", "1\n");
  const std::string path = (folder / "a") + std::string("\0b", 2);
  const auto check = [&](const auto& opens) {
    try {
      opens();
      FAIL_CHECK("accepted");
    } catch (const InvalidParameter& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).ends_with("a path without NUL bytes"));
    }
  };
  check([&] { (void)read_text("x", path); });
  check([&] { make_folder("x", path); });
  check([&] { ReplacedFile("x", path); });
  check([&] { read_trace(path, [](const TraceAccess&) {}, {}); });
  check([&] { (void)open_index_file("x", path, 10); });
  CHECK(folder.size() == 1);
  CHECK(read_text("x", folder / "a") == "1\n");
}

}  // namespace files_test
