// Files that a run writes are complete or absent, whatever ends it, and no surroundings change what is in
// them.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"
#include "random.hpp"

namespace written_files_test {

using namespace natten_sim::test;
namespace fs = std::filesystem;

const std::string kSmall = "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4";

/// Starts the program itself, without a shell, so that a signal meets nothing else. `input`: a file
/// descriptor.
pid_t start(std::vector<std::string> words, int input = -1) {
  words.insert(words.begin(), natten_sim::test::kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {0, 1, 2}) ::dup2(stream == 0 && input >= 0 ? input : nowhere, stream);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

std::vector<std::string> batch_words(const std::string& batch, const std::string& out) {
  return {"count", "-i",        "64", "-w",      "16",  "-s",       "8", "--q-tile",
          "8",     "--kv-tile", "4",  "--batch", batch, "--output", out};
}

std::string batch_of(int lines, int window) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "{\"window\": [" + std::to_string(window + i % 8) + "]}\n";
  return text;
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename();
  return name.starts_with(".natten-sim-") && name.ends_with(".tmp");
}

/// Starts a batch, gives it the first `lines` of its 20,000, and kills it while it waits for more.
void kill_after(std::size_t lines, const std::string& batch, const std::string& out) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = start(batch_words("-", out), ends[0]);
  ::close(ends[0]);
  std::size_t size = 0;
  for (std::size_t line = 0; line < lines; ++line) size = batch.find('\n', size) + 1;
  // Returns when all but what a pipe holds, 64 KiB, has been read.
  for (std::size_t at = 0; at < size;) {
    const ssize_t written = ::write(ends[1], batch.data() + at, size - at);
    REQUIRE(written > 0);
    at += static_cast<std::size_t>(written);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ends[1]);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("killed after any number of its lines, a run leaves the old file") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string folder = scratch_folder(), out = folder + "/out", batch = batch_of(20'000, 16);
  write_text(out, "old");
  for (int point = 0; point < 20; ++point) {
    const std::size_t lines = point == 0 ? 0 : point == 1 ? 20'000 : random() % 20'000;
    INFO("after " << lines << " lines");
    kill_after(lines, batch, out);
    REQUIRE(read_text(out) == "old");
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    INFO(entry.path());
    CHECK((entry.path() == out || is_temporary(entry.path())));
  }
}

TEST_CASE("killed at 200 random points, a run leaves the old file or the whole new one",
          "[.nightly][clock]") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string folder = scratch_folder(), in = folder + "/in", out = folder + "/out";
  write_text(in, batch_of(20'000, 16));
  const auto whole_run = [&] {
    const auto begin = std::chrono::steady_clock::now();
    int status = 0;
    ::waitpid(start(batch_words(in, out)), &status, 0);
    REQUIRE(status == 0);
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  };
  const auto longest = std::max(whole_run(), whole_run());
  const std::string whole = read_text(out);
  REQUIRE(std::count(whole.begin(), whole.end(), '\n') == 20'000);
  int killed = 0;
  for (int point = 0; point < 200; ++point) {
    write_text(out, "old");
    const pid_t child = start(batch_words(in, out));
    std::this_thread::sleep_for(longest * static_cast<int>(random() % 1000) / 1000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const std::string now = read_text(out);
    const bool complete_or_old = now == "old" || now == whole;
    INFO("point " << point << ": " << now.size() << " bytes");
    REQUIRE(complete_or_old);
  }
  CHECK(killed >= 50);  // else this has shown little
  for (const auto& entry : fs::directory_iterator(folder)) {
    INFO(entry.path());
    CHECK((entry.path() == in || entry.path() == out || is_temporary(entry.path())));
  }
}

void check_killed_sweep(const std::string& line, int points) {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string journal = scratch_folder() + "/journal", quiet = "sweep " + line + " --quiet";
  const auto begin = std::chrono::steady_clock::now();
  const std::string whole = run(quiet).out;
  const auto longest =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  REQUIRE(std::count(whole.begin(), whole.end(), '\n') >= 6);
  std::istringstream words(quiet + " --journal " + journal);
  const std::vector<std::string> argv{std::istream_iterator<std::string>(words), {}};
  std::size_t kept = 0;
  for (int point = 0; point < points; ++point) {
    const pid_t child = start(argv);
    std::this_thread::sleep_for(longest * static_cast<int>(random() % 1000) / 1000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string lines = read_text(journal);
    const std::size_t size = lines.rfind('\n') == std::string::npos ? 0 : lines.rfind('\n');
    CHECK(size >= kept);  // nothing that was answered is lost
    kept = size;
  }
  CHECK(run(quiet + " --journal " + journal).out == whole);
}

TEST_CASE("a sweep that is killed goes on from its journal to the same table") {
  check_killed_sweep("schedule --q-tiles 32 --algorithm spt --over heads=1:40:1", 4);
}

TEST_CASE("a sweep, searches included, that is killed goes on from its journal to the same table",
          "[.nightly][clock]") {
  check_killed_sweep("schedule --q-tiles 64 --algorithm spt --over heads=1:60:1", 8);
  check_killed_sweep("search -i 64 64 --top 2 --over sparsity=0.5:0.6,0.6:0.7,0.7:0.8,0.8:0.9,0.9:0.95", 8);
}

TEST_CASE("of two runs that write one file at a time, one wins and its file is whole") {
  const std::string folder = scratch_folder(), out = folder + "/out";
  std::vector<std::string> inputs, wholes;
  for (const int window : {16, 32}) {
    inputs.push_back(folder + "/in" + std::to_string(window));
    write_text(inputs.back(), batch_of(1'000, window));
    int status = 0;
    ::waitpid(start(batch_words(inputs.back(), out)), &status, 0);
    REQUIRE(status == 0);
    wholes.push_back(read_text(out));
  }
  REQUIRE(wholes[0] != wholes[1]);
  for (int round = 0; round < 20; ++round) {
    const pid_t first = start(batch_words(inputs[0], out)), second = start(batch_words(inputs[1], out));
    int status = 0;
    ::waitpid(first, &status, 0);
    CHECK(status == 0);
    ::waitpid(second, &status, 0);
    CHECK(status == 0);
    const std::string now = read_text(out);
    const bool one_of_them = now == wholes[0] || now == wholes[1];
    CHECK(one_of_them);
  }
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 3);
}

/// What this process has used, however busy the machine is.
std::chrono::nanoseconds processor_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  REQUIRE(::clock_getcpuclockid(process, &clock) == 0);
  REQUIRE(::clock_gettime(clock, &used) == 0);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

TEST_CASE("an interrupt ends a long run at once, as the shell expects it, and leaves no file") {
  const std::string folder = scratch_folder();
  const pid_t child = start({"atomics", "--updates", "4294967295", "--output", folder + "/out"});
  int status = 0;
  while (processor_time(child) < std::chrono::milliseconds(200) && ::waitpid(child, &status, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGINT);
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));  // a shell says 130: 128 + SIGINT
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK(fs::is_empty(folder));
}

TEST_CASE("places where nothing can be written are bad input") {
  for (const std::string place : {"/proc/natten-sim.json", "/sys/natten-sim.json", "/dev/null/x"}) {
    check_refused(kSmall + " --output " + place, {"output", place});
    check_refused(kSmall + " --picture " + place, {place});
  }
}

TEST_CASE("locale, time zone, home and folder change no byte") {
  for (const std::string line :
       {"list devices", "schedule --q-tiles 4 --kv-tiles 4 --json", "reuse -i 4096 --device h200 --csv",
        "search -i 1024 -w 128 --top 3", "atomics --updates 1000 --json"}) {
    const std::string folder = scratch_folder(), plain = folder + "/plain", other = folder + "/other";
    const std::string program = std::string("'") + natten_sim::test::kProgram + "' " + line;
    REQUIRE(shell_exit_code(program + " > " + plain) == 0);
    for (const std::string around :
         {"env LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 TZ=Asia/Tokyo HOME=/nonexistent ", "env -i ",
          "cd / && env LC_ALL=C TZ=:/nonexistent HOME= COLUMNS= TERM=dumb "}) {
      INFO(around << line);
      REQUIRE(shell_exit_code(around + program + " > " + other) == 0);
      CHECK(read_text(other) == read_text(plain));
    }
  }
}

TEST_CASE("any number of threads gives the same bytes") {
  for (const std::string line :
       {"search -i 64 64 --sparsity 0.5:0.9 --json --threads ",
        "search -i 30 48 80 --sparsity 0.8:0.95 --top 5 --csv --threads ",
        "search -i 4096 --window-range 64:512 --pareto --json --threads ",
        "sweep count -i 64 --q-tile 8 --kv-tile 4 --over window=8:64:8 stride=1,2,4 --jobs "}) {
    const auto one = run(line + "1");
    INFO(line << "\n" << one.err);
    REQUIRE(one.exit_code == 0);
    for (const std::string threads : {"2", "7"}) {
      INFO(threads);
      CHECK(run(line + threads).out == one.out);
    }
  }
}

TEST_CASE("a byte order mark changes nothing in any format") {
  const std::string folder = scratch_folder(), mark = "\xef\xbb\xbf";
  const auto same_in = [&](const std::string& file, const std::string& line, const std::string& text) {
    write_text(file, text);
    const auto plain = run(line + file);
    INFO(line << "\n" << plain.err);
    REQUIRE(plain.exit_code == 0);
    write_text(file, mark + text);
    CHECK(run(line + file).out == plain.out);
  };
  const auto same = [&](const std::string& line, const std::string& text) {
    same_in(folder + "/file", line + " ", text);
  };
  same_in(folder + "/rows.txt", "atomics --distribution file:", "1 2\n1\n");
  same_in(folder + "/rows.csv", "atomics --distribution file:", "1,2,1\n");
  same("reuse --l2-bytes 4096 --trace", "0x1000 128\n4096,32\n");
  same("count --config", "input = 64\nwindow = 8\nq-tile = 8\nkv-tile = 4\n");
  same(kSmall + " --batch", "{\"window\": [8]}\n");
  same("schedule --mask", "11\n11\n");
  same("reuse -i 512 --order", "0 1 2 3\n");
  same(
      "list presets --preset-file",
      R"({"schema": "natten-sim.presets/1", "presets": [{"name": "mine", "layout": [64], "sources": {"layout": "me"}}]})");
}

}  // namespace written_files_test
