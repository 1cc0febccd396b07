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
#include "places.hpp"

namespace launch_order_test {

using namespace natten_sim;
using Partitions = std::vector<std::int32_t>;

const std::vector<LaunchRun> kRuns = {{2, 0}, {3, 1}, {2, 0}, {1, 1}};

TEST_CASE("a full launch goes through the runs one after the other, and then begins again") {
  CHECK(partitions_in_launch_order(kRuns, 8) == Partitions{0, 0, 1, 1, 1, 0, 0, 1});
  CHECK(partitions_in_launch_order(kRuns, 11) == Partitions{0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1});
}

TEST_CASE("of several CTAs an SM the first run has its turns after five of others and after each six more") {
  CHECK(sms_in_launch_order(kRuns, 8) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(sms_in_launch_order(kRuns, 0).empty());
  CHECK(sms_in_launch_order({{3, 0}}, 7) == std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0});
  // The others are A = 2, 3, 4; B = 5, 6; C = 7. Two CTAs an SM: first A B C A B first C.
  CHECK(sms_in_launch_order(kRuns, 16) ==
        std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 0, 1, 7});
  // Four: first ABCAB first CABCAB first C, and what is left.
  CHECK(sms_in_launch_order(kRuns, 32) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4,
                                                                    5, 6, 0, 1, 7, 2, 3, 4, 5, 6, 7,
                                                                    2, 3, 4, 5, 6, 0, 1, 7, 0, 1});
  CHECK(slowness_in_launch_order({{2, 0, 0.25}, {1, 0}}) == std::vector<double>{0.25, 0.25, 0});
}

TEST_CASE("a few CTAs fill the first run, then take pairs of SMs in turns from the shortest run on") {
  CHECK(sms_in_launch_order(kRuns, 1) == std::vector<std::int32_t>{0});
  // Of runs {0, 1}, {2, 3, 4}, {5, 6} and {7}: 7, 2, 5, 4 are the first of their pairs, 3 and 6 the second.
  CHECK(sms_in_launch_order(kRuns, 4) == std::vector<std::int32_t>{0, 1, 2, 7});
  CHECK(sms_in_launch_order(kRuns, 6) == std::vector<std::int32_t>{0, 1, 2, 4, 5, 7});
  CHECK(sms_in_launch_order(kRuns, 7) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 7});
  // What a full round leaves is spread like a small launch.
  CHECK(sms_in_launch_order(kRuns, 12) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 7});
  CHECK(partitions_in_launch_order(kRuns, 0).empty());
  CHECK(partitions_in_launch_order(kRuns, 1) == Partitions{0});
  CHECK(partitions_in_launch_order(kRuns, 4) == Partitions{0, 0, 1, 1});
  CHECK(partitions_in_launch_order(kRuns, 6) == Partitions{0, 0, 1, 1, 0, 1});
}

TEST_CASE("a launch of few CTAs may be near one partition alone") {
  Device device;
  CHECK_FALSE(only_partition(device, 1));
  device.l2.partitions = Sourced<std::int32_t>{2, true, "here"};
  device.launch_runs = Sourced<std::vector<LaunchRun>>{{{2, 1}, {3, 1}, {2, 0}}, true, "here"};
  CHECK(only_partition(device, 1) == 1);
  CHECK(only_partition(device, 2) == 1);
  CHECK_FALSE(only_partition(device, 3));  // the third is on the shortest of the other runs
  device.l2.partitions->value = 1;
  CHECK_FALSE(only_partition(device, 1));
}

struct RecordedLaunch {
  std::int64_t ctas = 0;
  std::int64_t shared_kib = 0;
  std::vector<std::int32_t> sms;
  Partitions partitions;
};

/// Launches of data/launch-order.
std::vector<RecordedLaunch> recorded_launches(const std::string& device) {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/data/launch-order/nvidia-" + device + ".json");
  std::stringstream text;
  text << file.rdbuf();
  const Json root = parse_strict(text.str(), "launch-order", "natten-sim.launch-order/1");
  const auto near = root.at("partition_of_sm").get<std::string>();
  std::vector<RecordedLaunch> launches;
  for (const Json& each : root.at("launches")) {
    RecordedLaunch launch;
    launch.ctas = each.at("ctas").get<std::int64_t>();
    launch.shared_kib = each.at("shared_kib").get<std::int64_t>();
    for (const Json& sm : each.at("sm")) {
      launch.sms.push_back(sm.get<std::int32_t>());
      launch.partitions.push_back(near.at(static_cast<std::size_t>(launch.sms.back())) - '0');
    }
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
  CHECK(std::accumulate(runs.begin(), runs.end(), 0,
                        [](int sum, const LaunchRun& r) { return sum + r.sms; }) == 132);
  std::size_t all = 0, as_listed = 0;
  std::set<std::size_t> starts;
  for (const RecordedLaunch& launch : recorded_launches("h200")) {
    if (launch.shared_kib < 200) continue;  // one CTA an SM
    const std::int64_t ctas = std::min<std::int64_t>(launch.ctas, 132);
    const Partitions seen(launch.partitions.begin(), launch.partitions.begin() + ctas);
    std::size_t start = 0;
    while (start < runs.size() - 1 && partitions_in_launch_order(from_gpc(runs, start), ctas) != seen)
      ++start;
    INFO(launch.ctas << " CTAs");
    if (ctas == 132) {
      CHECK(start < runs.size() - 1);
      starts.insert(start);
      as_listed += start == 0 ? 1 : 0;
      ++all;
    } else {
      const Partitions modelled = partitions_in_launch_order(runs, ctas);
      const auto far = [](const Partitions& p) { return std::count(p.begin(), p.end(), 1); };
      CHECK(far(modelled) == far(seen));
    }
  }
  CHECK(all == 12);
  CHECK(as_listed >= all / 2);  // the start of the profile is the usual one
}

/// The run, of those listed, that each SM belongs to, by its number. `order`: SMs of a launch of one CTA an
/// SM from the listed start.
std::vector<std::size_t> run_of_sm(const std::vector<LaunchRun>& runs,
                                   const std::vector<std::int32_t>& order) {
  std::vector<std::size_t> run_of(order.size());
  std::size_t at = 0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::int32_t i = 0; i < runs[run].sms; ++i) run_of[static_cast<std::size_t>(order[at++])] = run;
  }
  return run_of;
}

TEST_CASE("recorded launches of two to four CTAs an SM go through the runs as the law says, on two GPUs") {
  const Catalog catalog = builtin_catalog();
  for (const std::string device : {"h200", "h100"}) {
    INFO(device);
    const std::vector<LaunchRun>& runs = catalog.device(device).launch_runs->value;
    const std::vector<RecordedLaunch> launches = recorded_launches(device);
    // The listed start is that of the first full launch whose partitions are those listed.
    const auto listed = std::find_if(launches.begin(), launches.end(), [&](const RecordedLaunch& launch) {
      return launch.ctas == 132 && launch.partitions == partitions_in_launch_order(runs, 132);
    });
    REQUIRE(listed != launches.end());
    const std::vector<std::size_t> run_of = run_of_sm(runs, listed->sms);
    std::size_t compared = 0;
    for (const RecordedLaunch& launch : launches) {
      const std::int64_t ctas_per_sm = launch.shared_kib == 100 ? 2 : launch.shared_kib == 70 ? 3 : 4;
      const std::int64_t ctas = 132 * ctas_per_sm;  // those that start at once
      if (launch.shared_kib >= 200 || launch.ctas < ctas) continue;
      std::vector<std::size_t> seen;
      for (std::int64_t i = 0; i < ctas; ++i)
        seen.push_back(run_of[static_cast<std::size_t>(launch.sms[static_cast<std::size_t>(i)])]);
      const std::size_t start = seen[static_cast<std::size_t>(runs[0].sms)] - 1;
      std::vector<std::size_t> modelled;
      const std::vector<LaunchRun> turned = from_gpc(runs, start);
      std::vector<std::size_t> numbers(runs.size());
      std::iota(numbers.begin(), numbers.end(), std::size_t{0});
      std::rotate(numbers.begin() + 1, numbers.begin() + 1 + static_cast<std::ptrdiff_t>(start),
                  numbers.end());
      std::vector<std::size_t> run_at;  // of each place
      for (std::size_t run = 0; run < turned.size(); ++run)
        run_at.insert(run_at.end(), static_cast<std::size_t>(turned[run].sms), numbers[run]);
      for (const std::int32_t sm : sms_in_launch_order(turned, ctas))
        modelled.push_back(run_at[static_cast<std::size_t>(sm)]);
      INFO(launch.ctas << " CTAs, " << ctas_per_sm << " an SM");
      CHECK(modelled == seen);
      ++compared;
    }
    CHECK(compared >= 12);
  }
}

/// The SMs of each run, in the order of a launch of one CTA on each SM.
std::vector<std::vector<std::int32_t>> runs_of(const std::vector<std::int32_t>& sms) {
  constexpr std::size_t kFirstRun = 8;  // on every GPU that was recorded
  std::vector<std::vector<std::int32_t>> runs;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    if (i == 0 || i == kFirstRun || (i > kFirstRun && sms[i] < sms[i - 1])) runs.emplace_back();
    runs.back().push_back(sms[i]);
  }
  return runs;
}

/// Whether the CTAs of `launch` beyond its full rounds are where the law has them, on a GPU whose full
/// launches are like `full`; run by run in the order of their numbers.
bool rest_is_spread(const RecordedLaunch& launch, const std::vector<std::int32_t>& full) {
  std::vector<LaunchRun> runs;
  for (const std::vector<std::int32_t>& run : runs_of(full))
    runs.push_back({static_cast<std::int32_t>(run.size()), 0});
  const auto begin = static_cast<std::ptrdiff_t>(launch.sms.size() / full.size() * full.size());
  std::vector<std::int32_t> seen(launch.sms.begin() + begin, launch.sms.end()), modelled;
  for (const std::int32_t at : sms_in_launch_order(runs, std::ssize(seen)))
    modelled.push_back(full[static_cast<std::size_t>(at)]);
  // The first run of a launch may begin in its middle.
  std::sort(seen.begin(), seen.begin() + 8);
  std::sort(modelled.begin(), modelled.begin() + 8);
  return seen == modelled;
}

TEST_CASE("CTAs that fill no round are spread as the law says, on five GPUs") {
  for (const std::string gpu : {"h200", "h200-second", "h100", "h100-second", "h100-third"}) {
    const std::vector<RecordedLaunch> launches = recorded_launches(gpu);
    std::size_t compared = 0;
    for (const RecordedLaunch& launch : launches) {
      const std::int64_t ctas_per_sm = launch.shared_kib >= 200   ? 1
                                       : launch.shared_kib == 100 ? 2
                                       : launch.shared_kib == 70  ? 3
                                                                  : 4;
      if (launch.ctas > 132 * ctas_per_sm || launch.ctas % 132 < 8) continue;
      // A launch starts with any of the GPCs.
      const bool as_modelled = std::any_of(launches.begin(), launches.end(), [&](const RecordedLaunch& full) {
        return full.ctas == 132 && rest_is_spread(launch, full.sms);
      });
      INFO(gpu << ": " << launch.ctas << " CTAs, " << ctas_per_sm << " an SM");
      CHECK(as_modelled);
      ++compared;
    }
    CHECK(compared >= 48);
  }
}

}  // namespace launch_order_test
