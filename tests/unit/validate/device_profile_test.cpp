// The profile that profile-device writes, made again from what was recorded on the H100 and the H200.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/validate/record/device_profile.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace device_profile_test {

using namespace natten_sim;
using namespace natten_sim::validate;

const std::string kFolder = std::string(natten_sim::test::kSourceDir) + "/data/";

Recording stream_of(const std::string& gpu) {
  const std::string file = kFolder + "recordings/" + gpu + "-stream.json";
  return parse_recording(read_text("recording", file), file);
}

DeviceSamples samples_of(const std::string& gpu) {
  const std::string file = kFolder + "launch-order/" + gpu + ".json";
  return parse_device_samples(read_text("samples", file), file);
}

std::vector<Device> devices_of(const std::string& json) {
  Catalog catalog;
  catalog.backends = builtin_catalog().backends;
  add_devices(catalog, json, "mine.json");
  return catalog.devices;
}

/// An SM after the other: 0 0 1 1 of four SMs, in launches of four CTAs.
DeviceSamples small_samples() {
  DeviceSamples samples;
  samples.device = "small";
  samples.sms = 4;
  samples.partition_of_sm = {0, 0, 1, 1};
  samples.launches = {{4, 128, 200, {2, 3, 0, 1}},
                      {4, 128, 200, {0, 2, 1, 3}},
                      {4, 128, 200, {2, 3, 0, 1}},
                      {4, 128, 100, {0, 0, 1, 1}},
                      {2, 128, 200, {0, 1}}};
  return samples;
}

TEST_CASE("the H100's profile is what its recordings and samples give, within what the file rounds") {
  const Catalog catalog = builtin_catalog();
  const Device& shipped = catalog.device("h100");
  const ProfiledDevice made =
      profiled_device("mine", stream_of("nvidia-h100"), samples_of("nvidia-h100"), catalog.devices);
  const Device& device = made.device;
  CHECK(device.sms->value == 132);
  CHECK(device.l2.bytes->value == 52428800);
  CHECK(static_cast<double>(device.l2.effective_bytes->value) ==
        Approx(static_cast<double>(shipped.l2.effective_bytes->value)).epsilon(1e-3));
  CHECK(device.l2.partitions->value == 2);
  CHECK(device.l2.hit_bytes_per_s->value == shipped.l2.hit_bytes_per_s->value);
  CHECK(device.l2.miss_bytes_per_s->value == shipped.l2.miss_bytes_per_s->value);
  CHECK(partitions_in_launch_order(device.launch_runs->value, 132) ==
        partitions_in_launch_order(shipped.launch_runs->value, 132));
  CHECK_FALSE(device.l2.ways->measured);
  // These samples were taken before copies were.
  CHECK(std::count(made.missing.begin(), made.missing.end(), "dram_bandwidth_bytes_per_s") == 1);
}

TEST_CASE("the H200 profiled by its own recording has its own bandwidths and its capacity of 29.3 MiB") {
  const Catalog catalog = builtin_catalog();
  const ProfiledDevice made =
      profiled_device("mine", stream_of("nvidia-h200"), samples_of("nvidia-h200"), catalog.devices);
  const Device& h200 = catalog.device("h200");
  CHECK(made.device.l2.hit_bytes_per_s->value == h200.l2.hit_bytes_per_s->value);
  CHECK(made.device.l2.miss_bytes_per_s->value == h200.l2.miss_bytes_per_s->value);
  CHECK(static_cast<double>(made.device.l2.effective_bytes->value) / 1048576 == Approx(29.3).epsilon(0.005));
}

TEST_CASE("the written file is a device file, number for number") {
  const Catalog shipped = builtin_catalog();
  DeviceSamples samples = samples_of("nvidia-h100");
  samples.copy_bytes_per_s = 2.5e12;
  samples.shared_memory_per_block_bytes = 232448;
  const Device made =
      profiled_device("mine", stream_of("nvidia-h100"), samples, shipped.devices).device;
  const std::vector<Device> read = devices_of(device_file_json(made));
  REQUIRE(read.size() == 1);
  CHECK(read[0].name == "mine");
  CHECK(read[0].dram_bytes_per_s->value == 2.5e12);
  CHECK(read[0].shared_memory_per_block_bytes->value == 232448);
  CHECK(read[0].l2.effective_bytes->value == made.l2.effective_bytes->value);
  CHECK(read[0].l2.effective_bytes->measured);
  CHECK(read[0].launch_runs->value.size() == 9);
  const Json written = parse_json(device_file_json(made)).at("devices")[0].at("launch_runs").at("value");
  CHECK(written[0] == Json::array({8, 0}));
}

TEST_CASE("the written file has the times of tiles, and how slow the clocks of runs are") {
  DeviceSamples samples = samples_of("nvidia-h100");
  samples.tile_times = SampledTileTimes{250.04, 600, 750, 1000, 1500};
  samples.slowness_of_sm.assign(132, 0);
  for (std::size_t sm = 124; sm < 132; ++sm) samples.slowness_of_sm[sm] = 0.0031;  // the first run
  const Device made =
      profiled_device("mine", stream_of("nvidia-h100"), samples, builtin_catalog().devices).device;
  const std::string text = device_file_json(made);
  const Json written = parse_json(text).at("devices")[0].at("launch_runs").at("value");
  CHECK(written[0] == Json::array({8, 0, 0.0031}));
  CHECK(written[1] == Json::array({16, 0}));
  const Device read = devices_of(text).at(0);
  CHECK(read.l2_tile_ns->value == 250);
  CHECK(read.dram_tile_ns->value == 600);
  CHECK(read.dram_tile_p90_ns->value == 750);
  CHECK(read.dram_tile_p99_ns->value == 1000);
  CHECK(read.dram_tile_p999_ns->value == 1500);
  CHECK(read.dram_tile_ns->source.find("third of its bandwidth") != std::string::npos);
  CHECK(read.launch_runs->value[0].slowness == 0.0031);
  CHECK(read.launch_runs->value[1].slowness == 0);
}

/// SMs, partition, slowness.
using Runs = std::vector<std::tuple<int, int, double>>;
Runs listed(const std::vector<LaunchRun>& runs) {
  Runs all;
  for (const LaunchRun& run : runs) all.emplace_back(run.sms, run.partition, run.slowness);
  return all;
}

TEST_CASE("launch runs of the H200 and the H100 are eight SMs and eight GPCs or what is left of one") {
  CHECK(listed(launch_runs_of(samples_of("nvidia-h200"))->runs) == Runs{{8, 0, 0},
                                                                        {16, 1, 0},
                                                                        {16, 0, 0},
                                                                        {18, 1, 0},
                                                                        {18, 0, 0},
                                                                        {8, 0, 0},
                                                                        {16, 0, 0},
                                                                        {16, 1, 0},
                                                                        {16, 1, 0}});
  CHECK(listed(launch_runs_of(samples_of("nvidia-h100"))->runs) == Runs{{8, 0, 0},
                                                                        {16, 0, 0},
                                                                        {16, 0, 0},
                                                                        {18, 0, 0},
                                                                        {18, 1, 0},
                                                                        {8, 0, 0},
                                                                        {16, 1, 0},
                                                                        {16, 1, 0},
                                                                        {16, 1, 0}});
}

TEST_CASE("a run ends where SM numbers fall, and SMs that always come first are one run") {
  DeviceSamples samples;
  samples.sms = 8;
  samples.partition_of_sm = {1, 0, 1, 0, 0, 0, 1, 0};
  samples.slowness_of_sm = {0.002, -0.001, 0.001, -0.001, 0.003, -0.001, -0.0015, -0.0015};
  samples.launches = {{8, 128, 200, {7, 6, 0, 2, 4, 1, 3, 5}},
                      {8, 128, 200, {6, 7, 1, 3, 5, 0, 2, 4}},
                      {8, 128, 200, {6, 7, 0, 2, 4, 1, 3, 5}}};
  const SeenLaunchRuns seen = launch_runs_of(samples).value();
  CHECK(seen.seen == 2);
  // 6 and 7 are near one partition each; of 0, 2 and 4 two are near partition 1.
  CHECK(listed(seen.runs) == Runs{{2, 0, -0.0015}, {3, 1, 0.002}, {3, 0, -0.001}});
}

TEST_CASE("launches of one order do not tell which SMs always come first") {
  DeviceSamples samples;
  samples.sms = 8;
  samples.partition_of_sm = {0, 0, 0, 0, 1, 1, 1, 1};
  samples.launches = {{8, 128, 200, {7, 6, 0, 2, 4, 1, 3, 5}}, {8, 128, 200, {7, 6, 0, 2, 4, 1, 3, 5}}};
  CHECK(listed(launch_runs_of(samples)->runs) == Runs{{1, 1, 0}, {1, 1, 0}, {3, 0, 0}, {3, 0, 0}});
}

TEST_CASE("launch runs are the start seen most often, of launches that have every SM once") {
  const std::optional<SeenLaunchRuns> seen = launch_runs_of(small_samples());
  REQUIRE(seen);
  CHECK(seen->launches == 3);
  CHECK(seen->seen == 2);  // SMs 2 3, then 0 1, twice
  CHECK(listed(seen->runs) == Runs{{2, 1, 0}, {2, 0, 0}});
  DeviceSamples none = small_samples();
  none.launches.clear();
  CHECK_FALSE(launch_runs_of(none));
}

TEST_CASE("samples survive being written, and those of another GPU are refused") {
  DeviceSamples samples = small_samples();
  samples.copy_bytes_per_s = 1e12;
  const DeviceSamples again = parse_device_samples(device_samples_json(samples), "samples.json");
  CHECK(again.device == "small");
  CHECK(again.partition_of_sm == samples.partition_of_sm);
  CHECK(again.launches.at(1).sm == samples.launches[1].sm);
  CHECK(*again.copy_bytes_per_s == 1e12);
  const Catalog catalog = builtin_catalog();
  CHECK_THROWS_AS(profiled_device("mine", stream_of("nvidia-h100"), samples, catalog.devices), InvalidParameter);
  std::string damaged = device_samples_json(samples);
  damaged.replace(damaged.find("0011"), 4, "0021");
  CHECK_THROWS_AS(parse_device_samples(damaged, "samples.json"), MalformedData);
}

}  // namespace device_profile_test
