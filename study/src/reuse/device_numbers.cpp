#include "device_numbers.hpp"

#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

DeviceNumbers numbers_of(const Device& device) {
  DeviceNumbers numbers;
  numbers.sector_bytes = value_of<std::int64_t>(device.l2.sector_bytes);
  numbers.line_bytes = value_of<std::int64_t>(device.l2.line_bytes);
  numbers.sms = value_of<std::int64_t>(device.sms);
  numbers.l2_effective_bytes = value_of<std::int64_t>(device.l2.effective_bytes);
  numbers.l2_bytes = value_of<std::int64_t>(device.l2.bytes);
  numbers.l2_partitions = value_of<std::int64_t>(device.l2.partitions);
  numbers.l2_ways = value_of<std::int64_t>(device.l2.ways);
  numbers.shared_memory_per_block_bytes = value_of<std::int64_t>(device.shared_memory_per_block_bytes);
  numbers.hit_bytes_per_s = value_of<double>(device.l2.hit_bytes_per_s);
  numbers.miss_bytes_per_s = value_of<double>(device.l2.miss_bytes_per_s);
  numbers.dram_bytes_per_s = value_of<double>(device.dram_bytes_per_s);
  numbers.l2_tile_ns = value_of<double>(device.l2_tile_ns);
  numbers.dram_tile_ns = value_of<double>(device.dram_tile_ns);
  numbers.dram_tile_p90_ns = value_of<double>(device.dram_tile_p90_ns);
  numbers.dram_tile_p99_ns = value_of<double>(device.dram_tile_p99_ns);
  numbers.dram_tile_p999_ns = value_of<double>(device.dram_tile_p999_ns);
  numbers.bf16_flops_per_s = value_of<double>(device.dense_bf16_flops_per_s);
  return numbers;
}

std::vector<std::string> assumed_numbers(const Device& device) {
  std::vector<std::string> assumed;
  const auto note = [&](const char* name, const auto& number) {
    if (!number || !number->measured) assumed.emplace_back(name);
  };
  note("l2_effective_bytes", device.l2.effective_bytes);
  note("l2_partitions", device.l2.partitions);
  note("launch_runs", device.launch_runs);
  note("l2_ways", device.l2.ways);
  note("l2_hit_bandwidth_bytes_per_s", device.l2.hit_bytes_per_s);
  note("l2_miss_bandwidth_bytes_per_s", device.l2.miss_bytes_per_s);
  note("dram_bandwidth_bytes_per_s", device.dram_bytes_per_s);
  note("l2_tile_ns", device.l2_tile_ns);
  note("dram_tile_ns", device.dram_tile_ns);
  note("dram_tile_p90_ns", device.dram_tile_p90_ns);
  note("dram_tile_p99_ns", device.dram_tile_p99_ns);
  note("dram_tile_p999_ns", device.dram_tile_p999_ns);
  note(kPeakRateName, device.dense_bf16_flops_per_s);
  return assumed;
}

}  // namespace natten_sim::study
