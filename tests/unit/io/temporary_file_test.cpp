#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <natten_sim/io/child_process.hpp>
#include <natten_sim/io/temporary_file.hpp>

#include "catch.hpp"

namespace temporary_file_test {

using namespace natten_sim;
namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  explicit Folder(const std::string& name)
      : path(fs::temp_directory_path() / ("natten-sim-" + name + "-" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path / name).string(); }
};

void age(const std::string& path) {
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
}

std::string left_behind(const Folder& folder, const std::string& name) {
  const std::string path = folder / name;
  std::ofstream(path) << "half";
  age(path);
  return path;
}

const std::string kDigits = "0123456789abcdef0123456789abcdef";

TEST_CASE("what a dead process left is removed when a temporary file is made beside it") {
  const Folder folder("leftovers");
  const std::string dead = left_behind(folder, ".natten-sim-" + kDigits + ".tmp");
  const std::string picture = left_behind(folder, ".natten-sim-" + kDigits + ".svg");
  const std::string others = left_behind(folder, ".natten-sim-notes.tmp");
  const std::string not_ours = left_behind(folder, "result.tmp");
  const auto file = TemporaryFile::create(folder.path.string());
  REQUIRE(file);
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(picture));
  CHECK(fs::exists(others));
  CHECK(fs::exists(not_ours));
}

TEST_CASE("a temporary file that is young, or in use, is no leftover") {
  const Folder folder("in-use");
  const auto used = TemporaryFile::create(folder.path.string());
  REQUIRE(used);
  age(used->path());
  const std::string young = folder / (".natten-sim-" + kDigits + ".tmp");
  std::ofstream(young) << "just made";
  remove_leftovers(folder.path.string());
  CHECK(fs::exists(used->path()));
  CHECK(fs::exists(young));
  age(young);
  remove_leftovers(folder.path.string());
  CHECK_FALSE(fs::exists(young));
}

TEST_CASE("a link with the name of a leftover stays, and so does what it leads to") {
  const Folder folder("linked-leftover");
  const std::string victim = left_behind(folder, "victim");
  fs::create_symlink(victim, folder / (".natten-sim-" + kDigits + ".tmp"));
  remove_leftovers(folder.path.string());
  CHECK(fs::exists(victim));
  CHECK(fs::is_symlink(folder / (".natten-sim-" + kDigits + ".tmp")));
}

TEST_CASE("a temporary file is gone with its object, at a signal, or has its final name") {
  const Folder folder("temporary");
  std::string path;
  {
    const auto file = TemporaryFile::create(folder.path.string(), ".svg");
    REQUIRE(file);
    path = file->path();
    CHECK(path.ends_with(".svg"));
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
  const auto interrupted = TemporaryFile::create(folder.path.string());
  remove_temporary_files();
  CHECK_FALSE(fs::exists(interrupted->path()));
  {
    const auto kept = TemporaryFile::create(folder.path.string());
    CHECK(kept->move_to(folder / "final"));
    remove_temporary_files();
  }
  CHECK(fs::exists(folder / "final"));
  CHECK(TemporaryFile::create(folder / "no such folder") == nullptr);
}

TEST_CASE("a program gets its words as they are, whatever a shell would make of them") {
  const Folder folder("words");
  const std::string program = folder / "say";
  std::ofstream(program)
      << "#!/bin/sh\nfor word in \"$@\"; do printf '<%s>' \"$word\"; done\necho told >&2\n";
  fs::permissions(program, fs::perms::owner_all);
  CHECK(output_of_program(program, {"a b", "it's", "$(echo c)", "; touch d", ""}, ChildMessages::kDropped) ==
        "<a b><it's><$(echo c)><; touch d><>");
  CHECK(output_of_program(folder / "missing", {}).empty());
}

TEST_CASE("a program is found by its path, or in the folders that are named") {
  const Folder folder("found");
  std::ofstream(folder / "our-program") << "#!/bin/sh\n";
  CHECK(find_program("our-program", {folder.path.string()}).empty());  // not executable
  fs::permissions(folder / "our-program", fs::perms::owner_all);
  CHECK(find_program("our-program", {folder.path.string()}) == folder / "our-program");
  CHECK(find_program(folder / "our-program") == folder / "our-program");
  CHECK(find_program("our-program").empty());
  CHECK(find_program(folder.path.string()).empty());
}

}  // namespace temporary_file_test
