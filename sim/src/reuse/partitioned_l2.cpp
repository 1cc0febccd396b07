#include <algorithm>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/partitioned_l2.hpp>

#include "reuse/lru_list.hpp"

namespace natten_sim {
namespace {

constexpr std::int32_t kMaxPartitions = 8;
constexpr std::int32_t kMaxWays = 1 << 16;
constexpr std::int64_t kMaxSets = std::int64_t{1} << 24;  // a list of each, in each partition

void require_valid(const L2Shape& shape) {
  if (shape.partition_bytes < 0)
    throw InvalidParameter("capacity_bytes", std::to_string(shape.partition_bytes), "0 or more", "0");
  if (shape.partitions < 1 || shape.partitions > kMaxPartitions) {
    throw InvalidParameter("l2_partitions", std::to_string(shape.partitions),
                           "1.." + std::to_string(kMaxPartitions));
  }
  if (shape.ways && (*shape.ways < 1 || *shape.ways > kMaxWays))
    throw InvalidParameter("l2_ways", std::to_string(*shape.ways), "1.." + std::to_string(kMaxWays));
}

}  // namespace

struct PartitionedL2::State {
  std::vector<LruList> caches;  // one a partition; a part of a block is block * partitions + home
  std::int64_t partitions = 1;
  std::int64_t sector_bytes = 1;
  std::int64_t sets = 1;

  /// Bytes of a block that are at home in a partition. They are whole sectors; the first partitions take the
  /// remainder.
  [[nodiscard]] std::int64_t part_bytes(std::int64_t bytes, std::int64_t home) const {
    const std::int64_t sectors = bytes / sector_bytes;
    return (sectors / partitions + (home < sectors % partitions ? 1 : 0)) * sector_bytes;
  }
  /// As many neighbouring blocks as there are sets take one set each, in an order that each such run begins
  /// elsewhere.
  [[nodiscard]] std::int64_t set_of(std::int64_t block) const {
    if (sets == 1) return 0;
    return (block + random_below(hashed_bits(static_cast<std::uint64_t>(block / sets)), sets)) % sets;
  }
  bool touch(std::int64_t cache, std::int64_t block, std::int64_t home, std::int64_t bytes) {
    return caches[static_cast<std::size_t>(cache)].touch(block * partitions + home, bytes, set_of(block));
  }
};

PartitionedL2::PartitionedL2(std::int64_t blocks, std::int64_t usual_block_bytes, std::int64_t sector_bytes,
                             const L2Shape& shape)
    : state_(std::make_unique<State>()) {
  require_valid(shape);
  state_->partitions = shape.partitions;
  state_->sector_bytes = sector_bytes;
  std::int64_t set_bytes = shape.partition_bytes;
  if (shape.ways) {
    const std::int64_t way_bytes = state_->part_bytes(usual_block_bytes, 0);
    state_->sets = std::max<std::int64_t>(1, shape.partition_bytes / (way_bytes * *shape.ways));
    if (state_->sets > kMaxSets)
      throw InvalidParameter("l2_bytes", std::to_string(shape.partition_bytes) + " a partition",
                             "at most " + std::to_string(kMaxSets * way_bytes * *shape.ways) + " a partition");
    set_bytes = shape.partition_bytes / state_->sets;
  }
  for (std::int32_t p = 0; p < shape.partitions; ++p)
    state_->caches.emplace_back(blocks * shape.partitions, set_bytes, state_->sets);
}

PartitionedL2::~PartitionedL2() = default;

std::int32_t PartitionedL2::partitions() const noexcept {
  return static_cast<std::int32_t>(state_->partitions);
}

PartitionedL2::Read PartitionedL2::read(std::int64_t block, std::int64_t bytes, std::int32_t partition) {
  Read read;
  for (std::int64_t home = 0; home < state_->partitions; ++home) {
    const std::int64_t part = state_->part_bytes(bytes, home);
    if (part == 0 || state_->touch(partition, block, home, part)) continue;
    if (home != partition) {
      read.fabric_bytes += part;
      if (state_->touch(home, block, home, part)) continue;
    }
    read.dram_bytes += part;
  }
  return read;
}

std::int64_t PartitionedL2::write(std::int64_t block, std::int64_t bytes, std::int32_t partition) {
  std::int64_t fabric_bytes = 0;
  for (std::int64_t home = 0; home < state_->partitions; ++home) {
    const std::int64_t part = state_->part_bytes(bytes, home);
    if (part == 0) continue;
    (void)state_->touch(partition, block, home, part);
    if (home == partition) continue;
    (void)state_->touch(home, block, home, part);
    fabric_bytes += part;
  }
  return fabric_bytes;
}

}  // namespace natten_sim
