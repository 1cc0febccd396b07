// Long work says how far it is and how long it still takes: on a terminal as a bar, elsewhere as lines.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"
#include "sanitized.hpp"

namespace progress_test {

using namespace natten_sim::test;
using Clock = std::chrono::steady_clock;

constexpr double kPatience = 120;  // seconds: the machine may be busy

/// One bar, as a reader of the terminal sees it.
struct Bar {
  double at_s = 0;  ///< read so long after the program was started
  std::string label;
  int hashes = 0;
  int percent = 0;
  double left_s = -1;  ///< none: -1
  double rounding_s = 0;
};

/// `sweep [####                     ]  16%, about 17 s left`
std::vector<Bar> bars_in(const std::string& text, double at_s) {
  static const std::regex kBar(
      R"(\r(\w+) \[(#*) *\] +(\d+)%(?:, about (\d+) (s|minutes|hours|days) left)?\x1b\[K)");
  std::vector<Bar> bars;
  for (std::sregex_iterator match(text.begin(), text.end(), kBar), end; match != end; ++match) {
    Bar bar{at_s, (*match)[1], static_cast<int>((*match)[2].length()), std::stoi((*match)[3])};
    if ((*match)[4].matched) {
      const std::string unit = (*match)[5];
      const double seconds = unit == "s" ? 1 : unit == "minutes" ? 60 : unit == "hours" ? 3600 : 86400;
      bar.left_s = std::stod((*match)[4]) * seconds;
      bar.rounding_s = seconds / 2;
    }
    bars.push_back(bar);
  }
  return bars;
}

/// A program whose stderr is a terminal, and whose stdout nobody reads.
class OnTerminal {
 public:
  explicit OnTerminal(const std::string& line) : terminal_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(terminal_ >= 0);
    REQUIRE(grantpt(terminal_) == 0);
    REQUIRE(unlockpt(terminal_) == 0);
    const std::string command = "exec '" + std::string(natten_sim::test::kProgram) + "' " + line +
                                " > /dev/null 2> '" + ptsname(terminal_) + "'";
    keep_open_ = open(ptsname(terminal_), O_RDWR | O_NOCTTY);
    process_ = fork();
    if (process_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ~OnTerminal() {
    if (process_ > 0) (void)end(SIGKILL);
    close(keep_open_);
    close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  /// What was written since the last call; waits a tenth of a second for it.
  std::string read_more() {
    pollfd ready{terminal_, POLLIN, 0};
    char text[4096];
    if (poll(&ready, 1, 100) <= 0) return "";
    const ssize_t size = read(terminal_, text, sizeof text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
  }

  /// The wait status after this signal.
  int end(int signal) {
    kill(process_, signal);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  int terminal_, keep_open_ = -1;
  pid_t process_ = -1;
};

struct Watched {
  std::vector<Bar> bars;
  int status = 0;
};

/// Watches a command until bars of `label` have shown `wanted` estimates, and interrupts it. On a slow machine
/// work before it has bars of its own, which are left out.
Watched watch(const std::string& label, const std::string& line, std::size_t wanted) {
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  OnTerminal program(line);
  Watched watched;
  std::string unread;
  const auto estimates = [&] {
    return std::count_if(watched.bars.begin(), watched.bars.end(),
                         [](const Bar& bar) { return bar.left_s >= 0; });
  };
  while (static_cast<std::size_t>(estimates()) < wanted && seconds() < kPatience) {
    unread += program.read_more();
    const std::size_t whole = unread.rfind("\x1b[K");
    if (whole == std::string::npos) continue;
    for (const Bar& bar : bars_in(unread.substr(0, whole + 3), seconds())) {
      if (!watched.bars.empty() || bar.label == label) watched.bars.push_back(bar);
    }
    unread.erase(0, whole + 3);
  }
  watched.status = program.end(SIGINT);
  return watched;
}

/// Of a run that has taken `s` seconds for the share f, s (1 - f) / f are left. The reader knows f to a
/// per cent, and that `s` is at least a second and no more than what it has waited itself.
void check_estimate(const Bar& bar) {
  CAPTURE(bar.at_s, bar.percent, bar.left_s);
  const double least_share = bar.percent / 100.0, largest_share = (bar.percent + 1) / 100.0;
  CHECK(bar.left_s >= (1 - largest_share) / largest_share - bar.rounding_s);
  if (bar.percent > 0) CHECK(bar.left_s <= bar.at_s * (1 - least_share) / least_share + bar.rounding_s);
}

void check_progress(const std::string& label, const std::string& line) {
  INFO("natten-sim " << line);
  const Watched watched = watch(label, line, 3);
  REQUIRE(watched.bars.size() >= 3);
  CHECK(watched.bars.front().at_s >= 1);
  int last = 0;
  for (const Bar& bar : watched.bars) {
    CHECK(bar.label == label);
    CHECK(bar.percent >= last);
    CHECK(bar.hashes == std::clamp(bar.hashes, bar.percent / 4, (bar.percent + 1) / 4));  // 25 of them
    if (bar.left_s >= 0) check_estimate(bar);
    last = bar.percent;
  }
  CHECK(watched.bars.back().left_s >= 0);
  const bool interrupted = (WIFSIGNALED(watched.status) && WTERMSIG(watched.status) == SIGINT) ||
                           (WIFEXITED(watched.status) && WEXITSTATUS(watched.status) == 130);
  CHECK(interrupted);
}

TEST_CASE("on a terminal, simulations of reuse and counts of updates say how far they are",
          "[.nightly][clock]") {
  check_progress("simulating", "reuse -i 16777216 --fidelity lru --device h200");
  check_progress("counting", "atomics --updates 4294967295");
}

TEST_CASE("on a terminal, updates of a file without an end are counted, up to the most there may be") {
  check_progress("counting", "atomics --distribution file:/dev/zero");
}

TEST_CASE("on a terminal, a trace of a large schedule says how far its text is", "[.nightly][clock]") {
  if (kSanitized) return;    // the schedule takes seconds then, and has a bar of its own
  check_progress("tracing",  // of 2^21 tasks, the most there may be
                 "schedule --q-tiles 1024 --kv-tiles 2048 --algorithm descending --no-conclusion --perfetto "
                 "/dev/null");
}

TEST_CASE("on a terminal, a walk over tiles and a batch of questions say how far they are",
          "[.nightly][clock]") {
  check_progress("counting",
                 "count -i 512 512 512 -w 100 100 100 --tiling single --q-tile 128 --kv-tile 128");
  const std::string questions = scratch_folder() + "/questions.jsonl";
  std::string text;
  for (int window = 0; window < 4000; ++window) {  // a walk of a tenth of a second each
    text += R"({"input": [128, 128, 128], "window": [)" + std::to_string(20 + window / 64) + ", " +
            std::to_string(20 + window % 64) +
            R"(, 30], "tiling": "single", "q_tile": [128], "kv_tile": [128]})"
            "\n";
  }
  write_text(questions, text);
  check_progress("answering", "count --batch " + questions);
}

TEST_CASE("on a terminal, searches for windows and schedules say how far they are", "[.nightly][clock]") {
  check_progress("searching",
                 "search -i 250 250 250 --pareto --sparsity 0.87:0.91 --objective work --backend hopper-fna "
                 "--phase both --any --threads 1");
  check_progress(
      "searching",
      "schedule --q-tiles 64 --kv-tiles 64 --heads 8 --mask causal --algorithm best --effort 100000 "
      "--device h100");
}

TEST_CASE("on a terminal, samples of an image say how far they are", "[.nightly][clock]") {
  const std::string file = scratch_folder() + "/large.json";
  const Json config = {{"name", "large"},        {"batch", 1},      {"height", 65536}, {"width", 64},
                       {"strides", {8, 16, 32}}, {"channels", 256}, {"heads", 8},      {"points", 4},
                       {"queries", 1 << 22},     {"source", "test"}};
  write_text(file,
             Json({{"schema", "natten-sim.msda-configs/1"}, {"configs", Json::array({config})}}).dump());
  check_progress("sampling", "msda --phase backward --order all --workload " + file);
}

TEST_CASE("on a terminal, the points of a sweep are counted as they are answered, never backwards",
          "[.nightly][clock]") {
  check_progress("sweep",
                 "sweep count -i 1024 1024 -w 300 300 --tiling single --kv-tile 128 --over q-tile=64:576:1");
}

TEST_CASE("what takes seconds says why in its help") {
  for (const char* reason : {"dash: over 500 backward schedules", "msda: over 35 million samples"}) {
    INFO(reason);
    CHECK(run_with({"COLUMNS=1000"}, "reproduce --help").out.find(reason) != std::string::npos);
  }
}

TEST_CASE("what takes seconds says why on a terminal, before the first bar", "[.nightly][clock]") {
  OnTerminal program("reproduce all");
  std::string text;
  const Clock::time_point start = Clock::now();
  const auto waits = [&] { return Clock::now() - start < std::chrono::seconds(static_cast<int>(kPatience)); };
  while (text.find("reproducing [") == std::string::npos && waits()) text += program.read_more();
  const std::size_t bar = text.find("reproducing [");
  REQUIRE(bar != std::string::npos);
  CHECK(text.find("dash: over 500 backward schedules") < bar);
  CHECK(text.find("msda: over 35 million samples") < bar);
  CHECK(text.find("over 500", bar) == std::string::npos);  // once
}

TEST_CASE("a quiet run shows no progress, on a terminal either", "[.nightly][clock]") {
  OnTerminal program("atomics --updates 4294967295 --quiet");
  std::string text;
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < std::chrono::seconds(3)) text += program.read_more();
  CHECK(text.empty());
}

TEST_CASE("where stderr is no terminal, a line says how far the work is after 5 seconds",
          "[.nightly][clock]") {
  const std::string seconds = kSanitized ? "90" : "9";
  const Run done = run("reuse -i 16777216 --fidelity lru --device h200 --max-time " + seconds);
  INFO(done.err);
  CHECK(done.out.empty());
  CHECK(done.exit_code == 2);
  static const std::regex kLine(R"(natten-sim: simulating: (\d+)%, about (\d+) (minutes|hours|days) left)");
  std::smatch match;
  REQUIRE(std::regex_search(done.err, match, kLine));
  CHECK(std::stoi(match[1]) < 100);
  CHECK(done.err.find('\r') == std::string::npos);
  CHECK(done.err.find("max-time") != std::string::npos);
}

}  // namespace progress_test
