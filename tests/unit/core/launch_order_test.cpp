// Where the CTAs of a launch run: by hand, and against launches that were recorded on an H200.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using Partitions = std::vector<std::int32_t>;

const std::vector<LaunchRun> kRuns = {{2, 0}, {3, 1}, {2, 0}, {1, 1}};

TEST_CASE("a full launch goes through the runs one after the other, and then begins again") {
  CHECK(partitions_in_launch_order(kRuns, 8) == Partitions{0, 0, 1, 1, 1, 0, 0, 1});
  CHECK(partitions_in_launch_order(kRuns, 11) == Partitions{0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1});
}

TEST_CASE("a few CTAs fill the first run and are spread over the others") {
  CHECK(partitions_in_launch_order(kRuns, 0).empty());
  CHECK(partitions_in_launch_order(kRuns, 1) == Partitions{0});
  CHECK(partitions_in_launch_order(kRuns, 4) == Partitions{0, 0, 1, 0});
  CHECK(partitions_in_launch_order(kRuns, 6) == Partitions{0, 0, 1, 1, 0, 1});
  CHECK(partitions_in_launch_order(kRuns, 7) == Partitions{0, 0, 1, 1, 0, 0, 1});
}

TEST_CASE("a launch of few CTAs may be near one partition alone") {
  Device device;
  CHECK_FALSE(only_partition(device, 1));
  device.l2.partitions = Sourced<std::int32_t>{2, true, "here"};
  device.launch_runs = Sourced<std::vector<LaunchRun>>{{{2, 1}, {3, 1}, {2, 0}}, true, "here"};
  CHECK(only_partition(device, 1) == 1);
  CHECK(only_partition(device, 3) == 1);
  CHECK_FALSE(only_partition(device, 4));  // the fourth is on the third run
  device.l2.partitions->value = 1;
  CHECK_FALSE(only_partition(device, 1));
}

struct RecordedLaunch {
  std::int64_t ctas = 0;
  std::int64_t shared_kib = 0;
  Partitions partitions;
};

/// Launches of data/launch-order.
std::vector<RecordedLaunch> recorded_launches() {
  std::ifstream file(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/launch-order/nvidia-h200.json");
  std::stringstream text;
  text << file.rdbuf();
  const Json root = parse_strict(text.str(), "launch-order", "natten-sim.launch-order/1");
  const auto near = root.at("partition_of_sm").get<std::string>();
  std::vector<RecordedLaunch> launches;
  for (const Json& each : root.at("launches")) {
    RecordedLaunch launch;
    launch.ctas = each.at("ctas").get<std::int64_t>();
    launch.shared_kib = each.at("shared_kib").get<std::int64_t>();
    for (const Json& sm : each.at("sm"))
      launch.partitions.push_back(near.at(static_cast<std::size_t>(sm.get<std::int64_t>())) - '0');
    launches.push_back(launch);
  }
  return launches;
}

/// The runs of the profile as a launch has them that starts with the GPC `start`; the first run stays.
std::vector<LaunchRun> from_gpc(std::vector<LaunchRun> runs, std::size_t start) {
  std::rotate(runs.begin() + 1, runs.begin() + 1 + static_cast<std::ptrdiff_t>(start), runs.end());
  return runs;
}

TEST_CASE("recorded launches of the H200 are those of its profile, from one of the GPCs on") {
  const Catalog catalog = builtin_catalog();
  const Device& h200 = catalog.device("h200");
  REQUIRE(h200.launch_runs);
  const std::vector<LaunchRun>& runs = h200.launch_runs->value;
  CHECK(std::accumulate(runs.begin(), runs.end(), 0, [](int sum, const LaunchRun& r) { return sum + r.sms; }) == 132);
  std::size_t all = 0, as_listed = 0;
  std::set<std::size_t> starts;
  for (const RecordedLaunch& launch : recorded_launches()) {
    if (launch.shared_kib < 200) continue;  // one CTA an SM
    const std::int64_t ctas = std::min<std::int64_t>(launch.ctas, 132);
    const Partitions seen(launch.partitions.begin(), launch.partitions.begin() + ctas);
    std::size_t start = 0;
    while (start < runs.size() - 1 && partitions_in_launch_order(from_gpc(runs, start), ctas) != seen) ++start;
    INFO(launch.ctas << " CTAs");
    // Of partial launches the number of CTAs in each partition is modelled, and not which GPC has one more.
    if (ctas == 132) {
      CHECK(start < runs.size() - 1);
      starts.insert(start);
      as_listed += start == 0 ? 1 : 0;
      ++all;
    } else {
      const Partitions modelled = partitions_in_launch_order(runs, ctas);
      const auto far = [](const Partitions& p) { return std::count(p.begin(), p.end(), 1); };
      CHECK(std::abs(far(modelled) - far(seen)) <= 2);
      if (ctas <= 8) CHECK(modelled == seen);
      if (ctas >= 16) CHECK(far(modelled) > 0);
    }
  }
  CHECK(all == 12);
  CHECK(as_listed >= all / 2);  // the start of the profile is the usual one
}

}  // namespace
