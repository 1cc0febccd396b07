// Clocks of SMs from made-up intervals, and what a file of samples may say of times and clocks.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/device_samples.hpp>
#include <natten_sim/validate/measure/sm_slowness.hpp>

#include "catch.hpp"

namespace device_samples_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using kernels::ItemInterval;

ItemInterval item_on(std::uint32_t sm, std::uint64_t ns, std::uint64_t cycles) {
  ItemInterval item;
  item.sm = sm;
  item.begin_ns = 5;
  item.end_ns = 5 + ns;
  item.begin_cycle = 9;
  item.end_cycle = 9 + cycles;
  return item;
}

DeviceSamples two_sms() {
  DeviceSamples samples;
  samples.device = "small";
  samples.sms = 2;
  samples.partition_of_sm = {0, 1};
  samples.tile_times = SampledTileTimes{250, 600.5, 750, 1000, 1500};
  samples.slowness_of_sm = {-0.0012, 0.0012};
  return samples;
}

TEST_CASE("an SM's slowness is the mean time of its cycles over that of all SMs, less 1") {
  // Cycles of 0.99 and 1.01 ns on SM 0, of 1.02 ns on SM 2: their mean is 1.01 ns.
  const std::vector<ItemInterval> intervals = {
      item_on(0, 990'000, 1'000'000), item_on(2, 1'020'000, 1'000'000), item_on(0, 1'010'000, 1'000'000)};
  CHECK(slowness_of_sms(intervals, 4) == std::vector<double>{-0.0099, 0, 0.0099, 0});
}

TEST_CASE("items of 0.2 ms and items without cycles do not count for clocks") {
  std::vector<ItemInterval> intervals = {item_on(0, 200'000, 100'000), item_on(1, 500'000, 0)};
  CHECK(slowness_of_sms(intervals, 2).empty());
  intervals.push_back(item_on(1, 200'001, 100'000));
  CHECK(slowness_of_sms(intervals, 2) == std::vector<double>{0, 0});
}

TEST_CASE("times of tiles and slowness survive a file, and neither need be there") {
  const DeviceSamples again = parse_device_samples(device_samples_json(two_sms()), "samples.json");
  REQUIRE(again.tile_times);
  CHECK(again.tile_times->l2 == 250);
  CHECK(again.tile_times->dram == 600.5);
  CHECK(again.tile_times->dram_p90 == 750);
  CHECK(again.tile_times->dram_p99 == 1000);
  CHECK(again.tile_times->dram_p999 == 1500);
  CHECK(again.slowness_of_sm == std::vector<double>{-0.0012, 0.0012});
  DeviceSamples without = two_sms();
  without.tile_times.reset();
  without.slowness_of_sm.clear();
  const DeviceSamples older = parse_device_samples(device_samples_json(without), "samples.json");
  CHECK_FALSE(older.tile_times);
  CHECK(older.slowness_of_sm.empty());
}

TEST_CASE("times that do not increase, and a slowness too many or of a stopped clock, are refused") {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"250.0", "0.0"},
                                                        {"250.0", "600.5"},
                                                        {"750.0", "600.5"},
                                                        {"1000.0", "750.0"},
                                                        {"1500.0", "1000.0"},
                                                        {"dram_p999", "dram_deviation"},
                                                        {"-0.0012,", "-0.0012,0.1,"},
                                                        {"-0.0012", "-1"},
                                                        {"-0.0012", "\"x\""}}) {
    std::string damaged = device_samples_json(two_sms());
    const std::size_t at = damaged.find(from);
    INFO(from << " -> " << to << " in " << damaged);
    REQUIRE(at != std::string::npos);
    damaged.replace(at, from.size(), to);
    CHECK_THROWS_AS(parse_device_samples(damaged, "samples.json"), MalformedData);
  }
}

}  // namespace device_samples_test
