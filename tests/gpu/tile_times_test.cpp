// How long tiles take, from the L2 and from DRAM under load.
#include <algorithm>
#include <vector>

#include <natten_sim/kernels/latency/tile_times.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels;

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

TEST_CASE("a tile takes longer from DRAM under load than from the L2, and neither takes 10 us") {
  const TileTimes times = tile_times(open_gpu());
  REQUIRE(times.l2.size() == 2048);
  REQUIRE(times.dram.size() == 20000);
  WARN("medians " << median(times.l2) << " and " << median(times.dram) << " ns");
  CHECK(*std::min_element(times.l2.begin(), times.l2.end()) > 0);
  CHECK(*std::min_element(times.dram.begin(), times.dram.end()) > 0);
  CHECK(median(times.l2) < median(times.dram));
  CHECK(median(times.dram) < 10000);
}

}  // namespace
