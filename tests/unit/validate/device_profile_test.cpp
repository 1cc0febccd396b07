// The profile that profile-device writes, made again from what was recorded on the H100 and the H200.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/validate/record/device_profile.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;

const std::string kFolder = std::string(NATTEN_SIM_SOURCE_DIR) + "/data/";

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
  samples.launches = {{4, 128, 200, {2, 3, 0, 1}}, {4, 128, 200, {0, 2, 1, 3}}, {4, 128, 200, {3, 2, 1, 0}},
                      {4, 128, 100, {0, 0, 1, 1}}, {2, 128, 200, {0, 1}}};
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
  CHECK(read[0].launch_runs->value.size() == made.launch_runs->value.size());
}

TEST_CASE("launch runs are the start seen most often, of launches that have every SM once") {
  const std::optional<SeenLaunchRuns> seen = launch_runs_of(small_samples());
  REQUIRE(seen);
  CHECK(seen->launches == 3);
  CHECK(seen->seen == 2);  // 1 1 0 0, twice; 0 1 0 1 once
  REQUIRE(seen->runs.size() == 2);
  CHECK(seen->runs[0].sms == 2);
  CHECK(seen->runs[0].partition == 1);
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

}  // namespace
