// What counters say that a scatter executed and what bound it.
#include <map>
#include <string>

#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/compare/bounds.hpp>

#include "catch.hpp"

namespace bounds_test {

using namespace natten_sim;
using namespace natten_sim::validate;

/// 1,000 updates of rows of 256 bytes: 8,000 sectors.
RecordedRow scatter_row(Dtype type, double us, const std::map<std::string, double>& counters) {
  ScatterCase point;
  point.dtype = type;
  point.updates = 1000;
  point.width = type == Dtype::kFp32 ? 64 : 128;
  RecordedRow row;
  row.point = point;
  for (const auto& [label, value] : counters) row.counters[label].spread = {value, value, value, value};
  Timing timing;
  timing.milliseconds = {us / 1e3, us / 1e3, us / 1e3, us / 1e3};
  row.timing = timing;
  return row;
}

RecordedRow red_row(double us, double busy_cycles, double dram_bytes, double l2_cycles_per_us = 2000) {
  return scatter_row(Dtype::kFp32, us,
                     {{"l1_reduction_sectors", 8000},
                      {"l1_atomic_sectors", 0},
                      {"busiest_slice_cycles", busy_cycles},
                      {"l2_cycles", us * l2_cycles_per_us},
                      {"dram_read_bytes", dram_bytes},
                      {"dram_write_bytes", 0}});
}

double number(ContentionBound bound) { return static_cast<double>(bound); }

TEST_CASE("the kind of sectors says which instruction ran") {
  const auto path = [](double red, double atom) {
    return executed_path(
        scatter_row(Dtype::kBf16, 10, {{"l1_reduction_sectors", red}, {"l1_atomic_sectors", atom}}));
  };
  CHECK(path(8000, 0) == static_cast<double>(InstructionPath::kRed));
  CHECK(path(0, 8000) == static_cast<double>(InstructionPath::kAtom));
  CHECK(path(0, 16000) ==
        static_cast<double>(InstructionPath::kCas));  // two lanes a word, one after the other
  CHECK_FALSE(path(0, 0).has_value());
  CHECK_FALSE(path(1, 1).has_value());
  CHECK_FALSE(executed_path(scatter_row(Dtype::kBf16, 10, {})).has_value());
}

TEST_CASE("a run is bound by the unit that is as busy as in the recording's busiest runs") {
  Recording recording;
  recording.rows = {red_row(10, 0, 0),             // what a launch takes
                    red_row(19, 19000, 0),         // less than twice that
                    red_row(100, 100000, 0),       // one slice takes a sector a ns
                    red_row(100, 50000, 360000),   // half of it: still its slice
                    red_row(100, 49000, 360000),   // 4 kB a ns, the most
                    red_row(110, 10000, 340000),   // 3.4 kB a ns: 85%
                    red_row(110, 10000, 339000),   // less: neither
                    red_row(999, 9e6, 0, 20000)};  // counted in another run than it was timed
  const BusiestRuns busiest = busiest_runs(recording);
  CHECK(busiest.shortest_ns == 10000);
  CHECK(busiest.dram_bytes_per_ns == 4);
  CHECK(busiest.slice_cycles_per_ns[0] == 1);
  using Bound = ContentionBound;
  const Bound expected[] = {Bound::kLaunch, Bound::kLaunch, Bound::kHottestAddress, Bound::kHottestAddress,
                            Bound::kDram,   Bound::kDram,   Bound::kIssue,          Bound::kHottestAddress};
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    INFO("row " << i);
    CHECK(counted_bound(recording.rows[i], busiest) == number(expected[i]));
  }
  CHECK_FALSE(counted_bound(scatter_row(Dtype::kFp32, 100, {}), busiest).has_value());
}

TEST_CASE("the clock of a recording is that of its long runs, whatever one of them does") {
  // Counted in a third of the time that was timed, and in three times: neither says what a slice can take.
  Recording recording;
  recording.rows = {red_row(10, 0, 0, 12000),          red_row(1000, 500'000, 0, 2000),
                    red_row(2000, 4'000'000, 0, 700),  red_row(3000, 12'000'000, 0, 6000),
                    red_row(4000, 3'000'000, 0, 2900), red_row(1500, 600'000, 0, 2000),
                    red_row(999, 5'000'000, 0, 3100),  red_row(999, 5'000'000, 0, 1300)};
  CHECK(busiest_runs(recording).slice_cycles_per_ns[0] == 0.75);
}

TEST_CASE("a compare-and-swap that sends half as many sectors again as it needs waits at its address") {
  const auto cas_row = [](double sectors) {
    return scatter_row(Dtype::kBf16, 100,
                       {{"l1_reduction_sectors", 0},
                        {"l1_atomic_sectors", sectors},
                        {"busiest_slice_cycles", 10},
                        {"l2_cycles", 200000},
                        {"dram_read_bytes", 0},
                        {"dram_write_bytes", 0}});
  };
  BusiestRuns busiest;
  busiest.shortest_ns = 10000;
  busiest.dram_bytes_per_ns = 4;
  busiest.slice_cycles_per_ns = {1, 1, 1};
  CHECK(counted_bound(cas_row(24000), busiest) == number(ContentionBound::kHottestAddress));
  CHECK(counted_bound(cas_row(23999), busiest) == number(ContentionBound::kIssue));
}

}  // namespace bounds_test
