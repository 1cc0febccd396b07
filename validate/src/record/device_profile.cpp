#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/record/device_profile.hpp>

#include "record/recording_folder.hpp"
#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kMiB = 1048576;

template <typename T>
Known<T> measured(T value, std::string source) {
  return Sourced<T>{value, true, std::move(source)};
}

std::string in_mib(double bytes) {
  const auto hundredths = static_cast<std::int64_t>(std::llround(bytes / kMiB * 100));
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (fraction.size() == 1 ? "0" : "") + fraction;
}

/// Effective capacities by the paced sawtooth rows, ascending.
std::vector<double> capacities_of(const Recording& stream) {
  std::vector<double> capacities;
  for (const RecordedRow& row : stream.rows) {
    const auto* const point = row.point.as<StreamCase>();
    const auto counter = row.counters.find("dram_read_bytes");
    if (point == nullptr || point->order != KvOrder::kSawtooth || point->step_cycles == 0 || point->ctas != 0 ||
        point->tells_sms_apart() || point->passes < 2 || counter == row.counters.end()) {
      continue;
    }
    const double bytes = static_cast<double>(point->buffer_mib) * kMiB;
    const double missed = counter->second.spread.median / bytes;  // passes' worth
    const double kept = 1 - (missed - 1) / (point->passes - 1);
    // Where nearly all is kept, the buffer may be smaller than the capacity; where little is, noise counts.
    if (kept > 0.9 || kept < 0.1) continue;
    capacities.push_back(kept * bytes);
  }
  std::sort(capacities.begin(), capacities.end());
  if (capacities.empty()) {
    throw MalformedData("recording of " + stream.head.device.name,
                        "no sawtooth walk of more than the L2 keeps", "the suite 'stream' with counters");
  }
  return capacities;
}

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Milliseconds of cyclic passes over so many MiB at full speed, and the bytes that arrive in them.
struct FullSpeed {
  double milliseconds = 0;
  double bytes = 0;
};
FullSpeed full_speed(const Recording& stream, std::int64_t buffer_mib) {
  for (const RecordedRow& row : stream.rows) {
    const auto* const point = row.point.as<StreamCase>();
    if (point == nullptr || point->buffer_mib != buffer_mib || point->order != KvOrder::kCyclic ||
        point->step_cycles != 0 || point->ctas != 0 || point->tells_sms_apart() || !row.timing) {
      continue;
    }
    return {row.timing->milliseconds.median,
            static_cast<double>(buffer_mib) * kMiB * point->passes * stream.head.device.sms};
  }
  throw MalformedData("recording of " + stream.head.device.name,
                      "no time of " + std::to_string(buffer_mib) + " MiB at full speed", "the suite 'stream'");
}

/// The rate of `like` times how much faster this GPU streams that buffer.
Known<double> by_ratio(const Known<double>& like_rate, const std::string& like_name, std::int64_t buffer_mib,
                       const Recording& stream, const Recording& like_stream) {
  if (!like_rate) return std::nullopt;
  const FullSpeed here = full_speed(stream, buffer_mib), there = full_speed(like_stream, buffer_mib);
  const double ratio = here.bytes / here.milliseconds / (there.bytes / there.milliseconds);
  return measured(std::round(like_rate->value * ratio / 1e8) * 1e8,
                  "measured: the rate of " + like_name + ", times the ratio of the rates at which both stream " +
                      std::to_string(buffer_mib) + " MiB at full speed (" +
                      std::to_string(here.milliseconds) + " and " + std::to_string(there.milliseconds) + " ms)");
}

void set_capacity(const Recording& stream, Device& device) {
  const std::vector<double> capacities = capacities_of(stream);
  device.l2.effective_bytes = measured(
      static_cast<std::int64_t>(median_of_sorted(capacities)),
      "measured: " + in_mib(median_of_sorted(capacities)) + " MiB (" + in_mib(capacities.front()) + " to " +
          in_mib(capacities.back()) + ") of one buffer streamed up and down by all SMs survive from pass to "
          "pass; the median of " + std::to_string(capacities.size()) + " buffers");
}

void set_launch_order(const DeviceSamples& samples, Device& device) {
  const std::int32_t partitions =
      *std::max_element(samples.partition_of_sm.begin(), samples.partition_of_sm.end()) + 1;
  device.l2.partitions = measured(partitions, "measured: by the latency of atomics from each SM to 256 addresses");
  if (const std::optional<SeenLaunchRuns> seen = launch_runs_of(samples)) {
    const std::string slowness =
        samples.slowness_of_sm.empty()
            ? ""
            : "; how much longer than the mean a cycle of its SMs lasts under attention";
    device.launch_runs =
        measured(seen->runs,
                 "measured: SM numbers and near L2 partitions of the CTAs of full launches, GPC after "
                 "GPC; listed is a start of " +
                     std::to_string(seen->seen) + " of " + std::to_string(seen->launches) + slowness);
  }
}

void set_tile_times(const SampledTileTimes& times, Device& device) {
  const auto rounded = [](double ns, const char* source) {
    return measured(std::round(ns * 10) / 10, source);
  };
  device.l2_tile_ns =
      rounded(times.l2, "measured: mean of 2048 tiles of 16 KiB, one after the other by cp.async");
  device.dram_tile_ns = rounded(
      times.dram,
      "measured: median of 20,000 single tiles of 16 KiB read while all other SMs stream from DRAM, at a "
      "third of its bandwidth on an H200");
  device.dram_tile_p90_ns = rounded(times.dram_p90, "measured: 90% of these tiles take less");
  device.dram_tile_p99_ns = rounded(times.dram_p99, "measured: 99% of these tiles take less");
  device.dram_tile_p999_ns = rounded(times.dram_p999, "measured: 99.9% of these tiles take less");
}

std::vector<std::string> missing_of(const Device& device) {
  std::vector<std::string> missing;
  for_each_number(device, [&](const char* name, const auto& number) {
    if (!number) missing.emplace_back(name);
  });
  if (!device.launch_runs) missing.emplace_back("launch_runs");
  return missing;
}

}  // namespace

ProfiledDevice profiled_device(const std::string& name, const Recording& stream, const DeviceSamples& samples,
                               const Device& like, const Recording& like_stream) {
  const RecordedDevice& gpu = stream.head.device;
  if (samples.device != gpu.name || samples.sms != gpu.sms) {
    throw InvalidParameter("samples", samples.device + " with " + std::to_string(samples.sms) + " SMs",
                           "those of the recording's " + gpu.name + " with " + std::to_string(gpu.sms));
  }
  constexpr std::int64_t kHitMib = 16, kMissMib = 128;
  ProfiledDevice result;
  Device& device = result.device;
  device.name = name;
  device.title = gpu.name;
  device.architecture = like.architecture;
  device.default_backend = like.default_backend;
  device.sms = measured(gpu.sms, "device property of " + gpu.name);
  device.l2.bytes = measured(gpu.l2_bytes, "device property of " + gpu.name);
  set_capacity(stream, device);
  set_launch_order(samples, device);
  device.l2.sector_bytes = like.l2.sector_bytes;
  device.l2.line_bytes = like.l2.line_bytes;
  if (like.l2.ways) device.l2.ways = Sourced<std::int32_t>{like.l2.ways->value, false, "assumed: that of " + like.name};
  device.l2.hit_bytes_per_s = by_ratio(like.l2.hit_bytes_per_s, like.name, kHitMib, stream, like_stream);
  device.l2.miss_bytes_per_s = by_ratio(like.l2.miss_bytes_per_s, like.name, kMissMib, stream, like_stream);
  if (samples.copy_bytes_per_s)
    device.dram_bytes_per_s = measured(std::round(*samples.copy_bytes_per_s / 1e9) * 1e9,
                                       "measured: bytes read and written by a copy of half a GiB");
  if (samples.tile_times) set_tile_times(*samples.tile_times, device);
  if (samples.shared_memory_per_block_bytes)
    device.shared_memory_per_block_bytes =
        measured(*samples.shared_memory_per_block_bytes, "device property of " + gpu.name);
  result.missing = missing_of(device);
  return result;
}

ProfiledDevice profiled_device(const std::string& name, const Recording& stream, const DeviceSamples& samples,
                               const std::vector<Device>& devices) {
  const std::vector<SuiteText> texts = embedded::reference_stream();
  const Recording reference = parse_recording(texts.front().json, texts.front().where);
  const auto like = std::find_if(devices.begin(), devices.end(), [&](const Device& device) {
    return device.name == reference.head.device.profile;
  });
  if (like == devices.end())
    throw InvalidParameter("device", "no " + reference.head.device.profile, "a catalog with it");
  return profiled_device(name, stream, samples, *like, reference);
}

DeviceSamples read_device_samples(const std::string& folder) {
  const std::vector<FolderText> files = files_of_schema(folder, kSamplesSchema);
  if (files.size() != 1) {
    throw InvalidParameter("recorded", folder + " with " + std::to_string(files.size()) + " files of samples",
                           "a folder with those of one GPU");
  }
  return parse_device_samples(files.front().text, files.front().path);
}

std::string device_file_json(const Device& device) {
  const auto sourced = [](const Json& value, const auto& number) {
    return Json{{"value", value}, {"measured", number.measured}, {"source", number.source}};
  };
  Json entry = {{"name", device.name},
                {"title", device.title},
                {"arch", device.architecture},
                {"default_backend", device.default_backend}};
  for_each_number(device, [&](const char* name, const auto& number) {
    if (number) entry[name] = sourced(number->value, *number);
  });
  if (device.launch_runs) {
    Json runs = Json::array();
    for (const LaunchRun& run : device.launch_runs->value) {
      runs.push_back(Json::array({run.sms, run.partition}));
      if (run.slowness != 0) runs.back().push_back(run.slowness);
    }
    entry["launch_runs"] = sourced(runs, *device.launch_runs);
  }
  return json_text({{"schema", "natten-sim.devices/1"}, {"devices", Json::array({entry})}}, JsonLayout::kIndented) + "\n";
}

}  // namespace natten_sim::validate
