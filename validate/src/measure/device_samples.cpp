#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/kernels/latency/tile_times.hpp>
#include <natten_sim/kernels/partitions/launch_order.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>
#include <natten_sim/validate/measure/device_samples.hpp>
#include <natten_sim/validate/measure/sm_slowness.hpp>
#include <natten_sim/validate/measure/timing.hpp>

namespace natten_sim::validate {
namespace {

/// CTAs of this much shared memory and so many threads; `per_sm` of them fit an SM of 228 KiB.
struct LaunchShape {
  std::int32_t shared_kib, threads, per_sm;
};
constexpr std::array<LaunchShape, 6> kLaunchShapes = {
    {{200, 128, 1}, {200, 384, 1}, {100, 128, 2}, {100, 256, 2}, {70, 128, 3}, {48, 128, 4}}};

std::vector<std::int32_t> launch_sizes(std::int32_t sms, const LaunchShape& shape) {
  if (shape.per_sm == 1) return {1, 2, 4, 8, 12, 16, 20, 24, sms / 4, sms / 2, 3 * sms / 4, sms, 2 * sms};
  std::vector<std::int32_t> sizes = {sms / 2, 3 * sms / 4};
  for (std::int32_t full = 1; full < shape.per_sm; ++full)
    sizes.insert(sizes.end(), {full * sms, full * sms + sms / 4, full * sms + 3 * sms / 4});
  sizes.push_back(2 * shape.per_sm * sms);
  return sizes;
}

/// Bytes read and written a second by a copy of half a GiB, the median of 20.
double copy_rate() {
  constexpr std::size_t kBytes = std::size_t{1} << 29;
  const kernels::DeviceBuffer source(kBytes);
  kernels::DeviceBuffer target(kBytes);
  const auto copy = [&] { target.copy_from_device(source); };
  (void)kernels::time_with_events(copy, 3);
  const std::vector<float> each = kernels::time_with_events(copy, 20);
  const std::vector<double> milliseconds(each.begin(), each.end());
  return 2.0 * static_cast<double>(kBytes) / (spread_of(milliseconds).median * 1e-3);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

SampledTileTimes sample_tile_times(const kernels::GpuInfo& gpu) {
  kernels::TileTimes times = kernels::tile_times(gpu);
  std::sort(times.dram.begin(), times.dram.end());
  const auto quantile = [&](std::size_t thousandths) {
    return times.dram.at(times.dram.size() * thousandths / 1000);
  };
  return {mean(times.l2), quantile(500), quantile(900), quantile(990), quantile(999)};
}

SampledTileTimes parse_tile_times(const StrictObject& fields) {
  const SampledTileTimes times{fields.number("l2"), fields.number("dram"), fields.number("dram_p90"),
                               fields.number("dram_p99"), fields.number("dram_p999")};
  if (!(times.l2 > 0)) fields.fail("l2", "a positive time");
  if (!(times.dram > times.l2)) fields.fail("dram", "more than that of the L2");
  if (!(times.dram_p90 > times.dram)) fields.fail("dram_p90", "more than the median");
  if (!(times.dram_p99 > times.dram_p90)) fields.fail("dram_p99", "more than the quantile before");
  if (!(times.dram_p999 > times.dram_p99)) fields.fail("dram_p999", "more than the quantile before");
  return times;
}

std::vector<double> parse_slowness(const StrictObject& fields, std::int32_t sms) {
  constexpr const char* kWhat = "a number between -1 and 1 for each SM";
  std::vector<double> slowness;
  for (const Json& each : fields.array("slowness_of_sm")) {
    if (!each.is_number() || !(std::abs(each.get<double>()) < 1)) fields.fail("slowness_of_sm", kWhat);
    slowness.push_back(each.get<double>());
  }
  if (slowness.size() != static_cast<std::size_t>(sms)) fields.fail("slowness_of_sm", kWhat);
  return slowness;
}

std::vector<std::int32_t> parse_partitions(const StrictObject& fields, std::int32_t sms) {
  std::vector<std::int32_t> partitions;
  for (const char digit : fields.text("partition_of_sm")) {
    if (digit != '0' && digit != '1') fields.fail("partition_of_sm", "a digit 0 or 1 for each SM");
    partitions.push_back(digit - '0');
  }
  if (partitions.size() != static_cast<std::size_t>(sms))
    fields.fail("partition_of_sm", "a digit 0 or 1 for each SM");
  return partitions;
}

SampledLaunch parse_launch(const StrictObject& fields, std::int32_t sms) {
  SampledLaunch launch{fields.integer32("ctas"), fields.integer32("threads"), fields.integer32("shared_kib"), {}};
  for (const Json& sm : fields.array("sm"))
    launch.sm.push_back(static_cast<std::int32_t>(fields.integer_in(sm, "sm", {0, sms - 1})));
  if (launch.sm.size() != static_cast<std::size_t>(launch.ctas)) fields.fail("sm", "an SM for each CTA");
  return launch;
}

LaunchRun run_of(const DeviceSamples& samples, std::span<const std::int32_t> sms) {
  const auto count = static_cast<std::int32_t>(sms.size());
  std::int32_t near_second = 0;
  double slowness = 0;
  for (const std::int32_t sm : sms) {
    near_second += samples.partition_of_sm[static_cast<std::size_t>(sm)];
    if (!samples.slowness_of_sm.empty()) slowness += samples.slowness_of_sm[static_cast<std::size_t>(sm)];
  }
  return {count, 2 * near_second > count ? 1 : 0, rounded_slowness(slowness / count)};
}

/// `first`: SMs of the first run, 0 if it is a GPC like the others.
std::vector<LaunchRun> runs_in_order(const DeviceSamples& samples, const SampledLaunch& launch,
                                     std::size_t first) {
  std::vector<LaunchRun> runs;
  const std::span<const std::int32_t> sms = launch.sm;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= sms.size(); ++i) {
    const bool ends = i == sms.size() || i == first || (i > first && sms[i] < sms[i - 1]);
    if (!ends) continue;
    runs.push_back(run_of(samples, sms.subspan(begin, i - begin)));
    begin = i;
  }
  return runs;
}

bool same_runs(const std::vector<LaunchRun>& a, const std::vector<LaunchRun>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LaunchRun& x, const LaunchRun& y) {
    return x.sms == y.sms && x.partition == y.partition && x.slowness == y.slowness;
  });
}

bool has_one_cta_an_sm(const DeviceSamples& samples, const SampledLaunch& launch) {
  std::vector<std::int32_t> sms = launch.sm;
  std::sort(sms.begin(), sms.end());
  sms.erase(std::unique(sms.begin(), sms.end()), sms.end());
  return launch.ctas == samples.sms && sms.size() == launch.sm.size();
}

std::vector<std::int32_t> first_sms(const SampledLaunch& launch, std::size_t count) {
  std::vector<std::int32_t> sms(launch.sm.begin(), launch.sm.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(sms.begin(), sms.end());
  return sms;
}

/// How many SMs come first in all of `launches`, at most a quarter; 0 if all have one order.
std::size_t common_start(const std::vector<SampledLaunch>& launches) {
  const SampledLaunch& one = launches.front();
  const auto all = [&](const auto& alike) { return std::all_of(launches.begin(), launches.end(), alike); };
  if (all([&](const SampledLaunch& each) { return each.sm == one.sm; })) return 0;
  std::size_t count = one.sm.size() / 4;
  while (!all([&](const SampledLaunch& each) { return first_sms(each, count) == first_sms(one, count); })) {
    --count;
  }
  return count;
}

}  // namespace

DeviceSamples sample_device(const kernels::GpuInfo& gpu) {
  constexpr std::int32_t kKib = 1024;
  constexpr int kRepetitions = 3;
  DeviceSamples samples;
  samples.device = gpu.name;
  samples.sms = gpu.sms;
  samples.partition_of_sm = kernels::sm_partitions(gpu).partition;
  samples.shared_memory_per_block_bytes = gpu.shared_memory_per_block_bytes;
  for (const LaunchShape& shape : kLaunchShapes) {
    if (std::int64_t{shape.shared_kib} * kKib > gpu.shared_memory_per_block_bytes) continue;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      for (const std::int32_t ctas : launch_sizes(gpu.sms, shape)) {
        samples.launches.push_back(
            {ctas, shape.threads, shape.shared_kib,
             kernels::sms_of_launch(gpu, ctas, shape.threads, shape.shared_kib * kKib)});
      }
    }
  }
  samples.copy_bytes_per_s = copy_rate();
  samples.tile_times = sample_tile_times(gpu);
  samples.slowness_of_sm = sample_slowness(gpu);
  return samples;
}

std::string device_samples_json(const DeviceSamples& samples) {
  std::string partitions;
  for (const std::int32_t partition : samples.partition_of_sm) partitions += std::to_string(partition);
  Json json = {{"schema", kSamplesSchema},
               {"device", samples.device},
               {"sms", samples.sms},
               {"partition_of_sm", partitions},
               {"launches", Json::array()}};
  if (samples.shared_memory_per_block_bytes)
    json["shared_memory_per_block_bytes"] = *samples.shared_memory_per_block_bytes;
  if (samples.copy_bytes_per_s) json["copy_bytes_per_s"] = *samples.copy_bytes_per_s;
  if (samples.tile_times) {
    json["tile_times_ns"] = {{"l2", samples.tile_times->l2},
                             {"dram", samples.tile_times->dram},
                             {"dram_p90", samples.tile_times->dram_p90},
                             {"dram_p99", samples.tile_times->dram_p99},
                             {"dram_p999", samples.tile_times->dram_p999}};
  }
  for (const double slowness : samples.slowness_of_sm)
    json["slowness_of_sm"].push_back(rounded_slowness(slowness));
  for (const SampledLaunch& launch : samples.launches) {
    json["launches"].push_back({{"ctas", launch.ctas},
                                {"threads", launch.threads},
                                {"shared_kib", launch.shared_kib},
                                {"sm", launch.sm}});
  }
  return json_text(json) + "\n";
}

DeviceSamples parse_device_samples(std::string_view json, const std::string& where) {
  const Json parsed = parse_strict(json, where);
  const StrictObject fields(
      parsed, where,
      {"schema", "device", "sms", "driver", "recorded", "about", "partition_of_sm", "launches",
       "shared_memory_per_block_bytes", "copy_bytes_per_s", "tile_times_ns", "slowness_of_sm"});
  if (fields.text("schema") != kSamplesSchema) fields.fail("schema", kSamplesSchema);
  DeviceSamples samples;
  samples.device = fields.text("device");
  samples.sms = static_cast<std::int32_t>(fields.integer("sms", {1, 1 << 20}));
  samples.partition_of_sm = parse_partitions(fields, samples.sms);
  for (const Json& launch : fields.array("launches")) {
    samples.launches.push_back(parse_launch(
        StrictObject(launch, where + ": 'launches'", {"ctas", "threads", "shared_kib", "sm"}), samples.sms));
  }
  if (fields.has("shared_memory_per_block_bytes"))
    samples.shared_memory_per_block_bytes = fields.integer("shared_memory_per_block_bytes", {1, INT32_MAX});
  if (fields.has("copy_bytes_per_s")) {
    samples.copy_bytes_per_s = fields.number("copy_bytes_per_s");
    if (!(*samples.copy_bytes_per_s > 0)) fields.fail("copy_bytes_per_s", "a positive rate");
  }
  if (fields.has("tile_times_ns"))
    samples.tile_times =
        parse_tile_times(fields.object("tile_times_ns", {"l2", "dram", "dram_p90", "dram_p99", "dram_p999"}));
  if (fields.has("slowness_of_sm")) samples.slowness_of_sm = parse_slowness(fields, samples.sms);
  return samples;
}

std::optional<SeenLaunchRuns> launch_runs_of(const DeviceSamples& samples) {
  std::vector<SampledLaunch> launches;
  for (const SampledLaunch& launch : samples.launches) {
    if (has_one_cta_an_sm(samples, launch)) launches.push_back(launch);
  }
  if (launches.empty()) return std::nullopt;
  const std::size_t first = common_start(launches);
  std::vector<SeenLaunchRuns> starts;
  for (const SampledLaunch& launch : launches) {
    std::vector<LaunchRun> runs = runs_in_order(samples, launch, first);
    const auto known = std::find_if(starts.begin(), starts.end(), [&](const SeenLaunchRuns& start) {
      return same_runs(start.runs, runs);
    });
    if (known == starts.end()) {
      starts.push_back({std::move(runs), 1, 0});
    } else {
      ++known->seen;
    }
  }
  SeenLaunchRuns most = *std::max_element(
      starts.begin(), starts.end(),
      [](const SeenLaunchRuns& a, const SeenLaunchRuns& b) { return a.seen < b.seen; });
  most.launches = static_cast<int>(launches.size());
  return most;
}

}  // namespace natten_sim::validate
