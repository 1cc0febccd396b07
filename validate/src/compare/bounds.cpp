#include <algorithm>
#include <cstddef>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/compare/bounds.hpp>

namespace natten_sim::validate {
namespace {

constexpr double kBusyShare = 0.5, kDramShare = 0.85, kLaunches = 2;
constexpr double kHalfAgain = 1.5;
constexpr double kNsOfMillisecond = 1e6;  // a millisecond
constexpr double kLongRunNs = kNsOfMillisecond;

std::optional<double> median_of(const RecordedRow& row, const char* label) {
  const auto found = row.counters.find(label);
  if (found == row.counters.end()) return std::nullopt;
  return found->second.spread.median;
}

std::optional<double> run_time_ns(const RecordedRow& row) {
  if (!row.timing) return std::nullopt;
  return row.timing->milliseconds.median * kNsOfMillisecond;
}

/// Cycles a ns of the time in which the busiest slice took an atomic in.
std::optional<double> slice_cycles_per_ns(const RecordedRow& row) {
  const std::optional<double> busy = median_of(row, "busiest_slice_cycles"), ns = run_time_ns(row);
  if (!busy || !ns || !(*ns > 0)) return std::nullopt;
  return *busy / *ns;
}

std::optional<double> l2_cycles_per_ns(const RecordedRow& row) {
  const std::optional<double> cycles = median_of(row, "l2_cycles"), ns = run_time_ns(row);
  if (!cycles || !ns || !(*ns > 0)) return std::nullopt;
  return *cycles / *ns;
}

/// Sectors of all rows, once.
double sectors_of_rows(const ScatterCase& point) {
  const std::int64_t row_bytes = point.width * element_bytes(point.dtype);
  return static_cast<double>(point.updates) * static_cast<double>(ceil_divide(row_bytes, kSectorBytes));
}

/// Whether compare-and-swaps sent half as many sectors again as two lanes a word need. (Rows that begin
/// within a sector send less than that without a retry.)
bool retried(const RecordedRow& row) {
  const auto* const point = row.point.as<ScatterCase>();
  const std::optional<double> atom = median_of(row, "l1_atomic_sectors");
  return point != nullptr && atom && *atom >= kHalfAgain * 2 * sectors_of_rows(*point);
}

/// Bytes a ns over the time beyond a launch's; nullopt for runs that are hardly longer.
std::optional<double> dram_rate(const RecordedRow& row, double shortest_ns) {
  const std::optional<double> read = median_of(row, "dram_read_bytes"),
                              written = median_of(row, "dram_write_bytes");
  const std::optional<double> ns = run_time_ns(row);
  if (!read || !written || !ns || *ns < kLaunches * shortest_ns) return std::nullopt;
  return (*read + *written) / (*ns - shortest_ns);
}

std::optional<std::size_t> path_index(const RecordedRow& row) {
  const std::optional<double> path = executed_path(row);
  if (!path) return std::nullopt;
  return static_cast<std::size_t>(*path);
}

/// Cycles a ns of the L2, where runs were counted as they were timed; 0 without counters.
double l2_clock(const Recording& recording) {
  std::vector<double> of_long_runs;
  std::optional<double> least;
  for (const RecordedRow& row : recording.rows) {
    const std::optional<double> ns = run_time_ns(row), cycles = l2_cycles_per_ns(row);
    if (!cycles) continue;
    if (*ns >= kLongRunNs) of_long_runs.push_back(*cycles);
    least = std::min(least.value_or(*cycles), *cycles);
  }
  if (of_long_runs.empty()) return least.value_or(0);
  const auto middle = of_long_runs.begin() + static_cast<std::ptrdiff_t>(of_long_runs.size() / 2);
  std::nth_element(of_long_runs.begin(), middle, of_long_runs.end());
  return *middle;
}

double number_of_bound(ContentionBound bound) { return static_cast<double>(bound); }

}  // namespace

std::optional<double> executed_path(const RecordedRow& row) {
  const auto* const point = row.point.as<ScatterCase>();
  const std::optional<double> red = median_of(row, "l1_reduction_sectors"),
                              atom = median_of(row, "l1_atomic_sectors");
  if (point == nullptr || !red || !atom || (*red > 0) == (*atom > 0)) return std::nullopt;
  if (*red > 0) return static_cast<double>(InstructionPath::kRed);
  return static_cast<double>(*atom >= kHalfAgain * sectors_of_rows(*point) ? InstructionPath::kCas
                                                                           : InstructionPath::kAtom);
}

BusiestRuns busiest_runs(const Recording& recording) {
  BusiestRuns busiest;
  const double clock = l2_clock(recording);
  for (const RecordedRow& row : recording.rows) {
    const std::optional<double> ns = run_time_ns(row);
    if (ns && (busiest.shortest_ns == 0 || *ns < busiest.shortest_ns)) busiest.shortest_ns = *ns;
  }
  for (const RecordedRow& row : recording.rows) {
    const std::optional<std::size_t> path = path_index(row);
    const std::optional<double> cycles = slice_cycles_per_ns(row), all = l2_cycles_per_ns(row);
    if (!path || !cycles || !all || *all > kHalfAgain * clock || *all * kHalfAgain < clock) continue;
    busiest.slice_cycles_per_ns.at(*path) = std::max(busiest.slice_cycles_per_ns.at(*path), *cycles);
  }
  for (const RecordedRow& row : recording.rows) {
    const std::optional<double> rate = dram_rate(row, busiest.shortest_ns);
    if (rate) busiest.dram_bytes_per_ns = std::max(busiest.dram_bytes_per_ns, *rate);
  }
  return busiest;
}

std::optional<double> counted_bound(const RecordedRow& row, const BusiestRuns& busiest) {
  const std::optional<double> ns = run_time_ns(row), cycles = slice_cycles_per_ns(row);
  const std::optional<std::size_t> path = path_index(row);
  if (!ns || !cycles || !path) return std::nullopt;
  if (*ns < kLaunches * busiest.shortest_ns) return number_of_bound(ContentionBound::kLaunch);
  if (*cycles >= kBusyShare * busiest.slice_cycles_per_ns.at(*path) || retried(row))
    return number_of_bound(ContentionBound::kHottestAddress);
  const std::optional<double> rate = dram_rate(row, busiest.shortest_ns);
  if (!rate) return std::nullopt;
  return number_of_bound(*rate >= kDramShare * busiest.dram_bytes_per_ns ? ContentionBound::kDram
                                                                         : ContentionBound::kIssue);
}

}  // namespace natten_sim::validate
