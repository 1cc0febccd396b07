#include "cli/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMostMib = std::int64_t{1} << 30;
constexpr double kMostSeconds = 31'536'000;  // a year
constexpr rlim_t kMib = rlim_t{1} << 20;

// What the signal handler needs: a handler may neither format nor allocate.
char time_message[160];
int time_message_length = 0;

class Deadline final : public Cancellation {
 public:
  explicit Deadline(double seconds)
      : seconds_(seconds),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  void check() override {
    if (Clock::now() < end_) return;
    char over[64];
    std::snprintf(over, sizeof over, "%g s are over", seconds_);
    throw LimitReached("request-time", over, "a longer time, or a smaller question");
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point end_;
};

extern "C" void leave_on_time(int) {
  remove_temporary_files();
  [[maybe_unused]] const ssize_t told =
      ::write(STDERR_FILENO, time_message, static_cast<std::size_t>(time_message_length));
  ::_exit(kExitBadInput);
}

void set_timer(double seconds) {
  const double whole = std::floor(seconds);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  (void)::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Options<LimitFlags> limit_rows() {
  Options<LimitFlags> rows;
  rows.add("--max-memory", &LimitFlags::memory_mib,
           {.value = "MIB",
            .help = "Stop with an error rather than take more memory than this",
            .range = {1, kMostMib},
            .echo = Echo::kNever});
  rows.add("--max-time", &LimitFlags::time_s,
           {.value = "SECONDS",
            .help = "Stop with an error when this long has passed",
            .interval = {0.001, kMostSeconds},
            .accepted = "seconds from 0.001 to 31536000",
            .echo = Echo::kNever});
  return rows;
}

RunLimits::RunLimits(const Sources& sources) {
  const auto limits = limit_rows().rows();
  for (std::size_t i = 0; i < sources.command().options.size(); ++i) {
    for (const auto& row : limits) {
      if (!sources[i].given() || !sources.command().options[i].is_called(row.name)) continue;
      if (sources[i].words) {
        row.read_words(flags_, *sources[i].words);
      } else {
        row.read_json(flags_, sources[i].spelled, *sources[i].value);
      }
    }
  }
  if (flags_.memory_mib) {
    rlimit now = {};
    (void)::getrlimit(RLIMIT_DATA, &now);
    memory_before_ = static_cast<std::int64_t>(now.rlim_cur);
    now.rlim_cur = std::min(now.rlim_max, static_cast<rlim_t>(*flags_.memory_mib) * kMib);
    (void)::setrlimit(RLIMIT_DATA, &now);
  }
  if (flags_.time_s) {
    time_message_length =
        std::snprintf(time_message, sizeof time_message,
                      "natten-sim: error: max-time: %g s are over; accepted: a longer time, or a smaller "
                      "question\n",
                      *flags_.time_s);
    std::signal(SIGALRM, leave_on_time);
    set_timer(*flags_.time_s);
  }
}

RunLimits::~RunLimits() {
  if (flags_.memory_mib) {
    rlimit now = {};
    (void)::getrlimit(RLIMIT_DATA, &now);
    now.rlim_cur = static_cast<rlim_t>(memory_before_);
    (void)::setrlimit(RLIMIT_DATA, &now);
  }
  if (flags_.time_s) {
    set_timer(0);
    std::signal(SIGALRM, SIG_DFL);
  }
}

AnswerTime::AnswerTime(std::optional<double> seconds) {
  if (!seconds) return;
  deadline_ = std::make_unique<Deadline>(*seconds);
  scope_.emplace(*deadline_);
}
AnswerTime::~AnswerTime() = default;

void RunLimits::explain_lack_of_memory() const {
  if (flags_.memory_mib)
    throw InvalidParameter("max-memory", std::to_string(*flags_.memory_mib) + " MiB",
                           "more memory, or a smaller question");
}

}  // namespace natten_sim::cli
