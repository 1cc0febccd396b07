#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim::study {

/// What `reuse` reads of a device's profile. Empty: the profile does not say.
struct DeviceNumbers {
  std::optional<std::int64_t> sms, sector_bytes, line_bytes, l2_bytes, l2_effective_bytes, l2_partitions,
      l2_ways, shared_memory_per_block_bytes;
  std::optional<double> hit_bytes_per_s, miss_bytes_per_s, dram_bytes_per_s, bf16_flops_per_s;
  std::optional<double> l2_tile_ns;
  std::optional<double> dram_tile_ns, dram_tile_p90_ns, dram_tile_p99_ns, dram_tile_p999_ns;
};

[[nodiscard]] DeviceNumbers numbers_of(const Device& device);

}  // namespace natten_sim::study
