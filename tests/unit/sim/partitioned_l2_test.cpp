// The L2 in partitions against a slow one written from its description, and the streams that showed it.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/partitioned_l2.hpp>

#include "catch.hpp"

namespace partitioned_l2_test {

using namespace natten_sim;

/// One partition's cache: lists of (block, home), most recent first.
struct SlowPartition {
  std::map<std::int64_t, std::deque<std::pair<std::int64_t, std::int64_t>>> sets;
};

/// Fully associative when `sets` is 1. Blocks of one size.
struct SlowL2 {
  std::int64_t partitions, sets, parts_a_set;
  std::vector<SlowPartition> caches = std::vector<SlowPartition>(static_cast<std::size_t>(partitions));

  /// Both homes of a block in one set; each run of `sets` blocks takes every set once, and begins elsewhere.
  std::int64_t set_of(std::int64_t block) const {
    const std::int64_t run = block / sets, in_run = block - run * sets;
    const std::int64_t first = random_below(hashed_bits(static_cast<std::uint64_t>(run)), sets);
    return (first + run * sets + in_run) % sets;
  }

  bool look(std::int64_t at, std::int64_t block, std::int64_t home) {
    auto& list = caches[static_cast<std::size_t>(at)].sets[set_of(block)];
    const std::pair part{block, home};
    bool found = false;
    for (auto it = list.begin(); it != list.end(); ++it) {
      if (*it != part) continue;
      list.erase(it);
      found = true;
      break;
    }
    list.push_front(part);
    while (static_cast<std::int64_t>(list.size()) > parts_a_set) list.pop_back();
    return found;
  }
  /// Parts from DRAM and over the fabric.
  std::pair<std::int64_t, std::int64_t> read(std::int64_t block, std::int64_t at) {
    std::int64_t dram = 0, fabric = 0;
    for (std::int64_t home = 0; home < partitions; ++home) {
      if (look(at, block, home)) continue;
      fabric += home != at ? 1 : 0;
      if (home != at && look(home, block, home)) continue;
      ++dram;
    }
    return {dram, fabric};
  }
};

TEST_CASE("reads hit, cross the fabric and miss as in the slow L2, with any partitions and ways") {
  std::uint64_t state = 20261121;
  INFO("seed 20261121");
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t partitions = 1 + random(3), blocks = 2 + random(40), part = 4;
    const std::int64_t ways = random(2) == 0 ? 0 : 1 + random(4), sets = ways == 0 ? 1 : 1 + random(6);
    const std::int64_t parts_a_set = ways == 0 ? random(60) : ways;
    PartitionedL2 fast(blocks, partitions * part, part,
                       {parts_a_set * sets * part, static_cast<std::int32_t>(partitions),
                        ways == 0 ? std::nullopt : std::optional(static_cast<std::int32_t>(ways))});
    SlowL2 slow{partitions, sets, parts_a_set};
    for (int i = 0; i < 400; ++i) {
      const std::int64_t block = random(static_cast<std::uint64_t>(blocks)),
                         at = random(static_cast<std::uint64_t>(partitions));
      if (random(10) == 0) {
        std::int64_t away = 0;
        for (std::int64_t home = 0; home < partitions; ++home) {
          (void)slow.look(at, block, home);
          if (home == at) continue;
          (void)slow.look(home, block, home);
          ++away;
        }
        CHECK(fast.write(block, partitions * part, static_cast<std::int32_t>(at)) == away * part);
        continue;
      }
      const PartitionedL2::Read read = fast.read(block, partitions * part, static_cast<std::int32_t>(at));
      const auto [dram, fabric] = slow.read(block, at);
      CHECK(read.dram_bytes == dram * part);
      CHECK(read.fabric_bytes == fabric * part);
    }
  }
}

/// DRAM bytes over the buffer when readers of `partitions_reading` walk it together `passes` times.
double read_together(std::int64_t blocks, std::int64_t capacity_blocks, int passes,
                     const std::vector<std::int32_t>& partitions_reading) {
  PartitionedL2 l2(blocks, 64, 32, {capacity_blocks * 64, 2});
  std::int64_t dram = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (const std::int32_t partition : partitions_reading)
        dram += l2.read(block, 64, partition).dram_bytes;
    }
  }
  return static_cast<double>(dram) / static_cast<double>(blocks * 64);
}

TEST_CASE(
    "what all SMs read shares one partition's capacity, what one partition reads keeps half at the other") {
  // Capacity 100 blocks a partition, 6 passes.
  CHECK(read_together(100, 100, 6, {0, 1}) == 1);
  CHECK(read_together(101, 100, 6, {0, 1}) == 6);
  // Readers of one partition: what is at home there is lost from 101 blocks on, the other half is found at
  // its home until that overflows too, at 200 blocks: 1 + 5/2 readings between.
  for (const std::int32_t partition : {0, 1}) {
    CHECK(read_together(100, 100, 6, {partition}) == 1);
    CHECK(read_together(150, 100, 6, {partition}) == 3.5);
    CHECK(read_together(200, 100, 6, {partition}) == 3.5);
    CHECK(read_together(202, 100, 6, {partition}) == 6);
  }
}

TEST_CASE(
    "no bytes come from DRAM that were not asked of home, and a part crosses the fabric only from afar") {
  PartitionedL2 one(4, 64, 32, {1 << 20, 1});
  CHECK(one.read(0, 64, 0).fabric_bytes == 0);
  PartitionedL2 two(4, 96, 32, {1 << 20, 2});
  // 96 bytes: 64 at home in partition 0, 32 in partition 1.
  const PartitionedL2::Read first = two.read(0, 96, 0);
  CHECK(first.dram_bytes == 96);
  CHECK(first.fabric_bytes == 32);
  const PartitionedL2::Read other = two.read(0, 96, 1);
  CHECK(other.dram_bytes == 0);
  CHECK(other.fabric_bytes == 64);
}

TEST_CASE("a scan above the capacity keeps the sets that one block more does not fill") {
  // 64 sets of 16 ways are 1024 parts, 8 blocks of two parts a set: 512 blocks fit. Each run of 64 blocks
  // more gives every set one block more; so of N = 512 + e blocks, e sets thrash with 9 blocks each, and the
  // others keep 8. Those that are kept are (64 - e) * 8 of N.
  for (const std::int64_t more : {0, 16, 32, 48, 64}) {
    INFO(more);
    PartitionedL2 l2(512 + more, 64, 32, {1024 * 32, 2, 16});
    std::int64_t dram = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t block = 0; block < 512 + more; ++block) {
        for (const std::int32_t reader : {0, 1}) dram += pass * l2.read(block, 64, reader).dram_bytes;
      }
    }
    CHECK(dram == more * 9 * 64);
  }
}

TEST_CASE("shapes out of range are refused by name") {
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {-1, 1}), InvalidParameter);
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {64, 0}), InvalidParameter);
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {64, 9}), InvalidParameter);
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {64, 2, -1}), InvalidParameter);
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {64, 2, 0}), InvalidParameter);
  // 2^50 bytes in 16 ways of one sector: 2^41 sets.
  CHECK_THROWS_AS(PartitionedL2(1, 64, 32, {std::int64_t{1} << 50, 2, 16}), InvalidParameter);
}

}  // namespace partitioned_l2_test
