#include "cli/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/csv.hpp>

namespace natten_sim::cli {
namespace {

constexpr const char* kEstimate = "estimate";
constexpr double kMebibyte = 1 << 20;

struct Room {
  double bytes = 0;
  std::string whose;
};

/// What --max-memory leaves to this process, else what the machine has.
Room memory_room() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return {static_cast<double>(limit.rlim_cur), mention("max-memory") + " leaves"};
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return {pages * static_cast<double>(::sysconf(_SC_PAGESIZE)), "this machine has"};
}

std::string mib_text(double bytes) { return fmt::format("{:.0f} MiB", std::max(bytes / kMebibyte, 1.0)); }

Json fields_of(const study::Estimate& estimate) {
  return {{"steps", std::round(estimate.steps)},
          {"bytes", std::round(estimate.bytes)},
          {"option", estimate.option},
          {"value", estimate.value},
          {"at_most", estimate.at_most}};
}

std::string text_of(const study::Estimate& estimate) {
  return fmt::format("steps   {}{:.3g}, of ten to a hundred nanoseconds each\nmemory  {}\nlargest --{} {}\n",
                     estimate.at_most ? "at most " : "", estimate.steps, mib_text(estimate.bytes), estimate.option,
                     estimate.value);
}

}  // namespace

Options<OutputFlags> estimate_rows() {
  Options<OutputFlags> rows;
  rows.add(std::string("--") + kEstimate, &OutputFlags::estimate,
           {.help = "Say how many steps and how much memory the answer takes, and stop", .echo = Echo::kNever});
  return rows.group(kOutputGroup);
}

void require_room(const OutputFlags& flags, const study::Estimate& estimate) {
  constexpr double kFastestStep = 1e-9;  // seconds; half of the steps may be too many
  const std::optional<double>& time = flags.limits.time_s;
  if (time && !estimate.at_most && kFastestStep * estimate.steps / 2 > *time)
    throw InvalidParameter(estimate.option, fmt::format("{}, which takes about {:.3g} steps,", estimate.value, estimate.steps),
                           fmt::format("a smaller question: {} leaves {:g} s", mention("max-time"), *time));
  const Room room = memory_room();
  if (estimate.bytes <= room.bytes) return;
  throw InvalidParameter(estimate.option,
                         estimate.value + ", which takes about " + mib_text(estimate.bytes) + " of memory,",
                         "a smaller question: " + room.whose + " " + mib_text(room.bytes));
}

void put_estimate(const OutputFlags& flags, Reply& reply, const std::string& subcommand, Json input,
                  const std::optional<study::Estimate>& estimate) {
  if (!estimate)
    throw InvalidParameter(kEstimate, "of what is in a file", "a question whose size is known before it is read");
  if (flags.json) {
    put_answer(flags, reply, JsonAnswer(kEstimate, {{subcommand, std::move(input)}}, fields_of(*estimate)));
  } else if (flags.csv) {
    const Json row = fields_of(*estimate);
    put_answer(flags, reply, report::csv_table(row, {row}));
  } else {
    put_answer(flags, reply, text_of(*estimate));
  }
}

bool answered_by_estimate(const OutputFlags& flags, Reply& reply, const std::string& subcommand, Json input,
                          const std::optional<study::Estimate>& estimate) {
  if (flags.estimate) {
    put_estimate(flags, reply, subcommand, std::move(input), estimate);
    return true;
  }
  if (estimate) require_room(flags, *estimate);
  return false;
}

}  // namespace natten_sim::cli
