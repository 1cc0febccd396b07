#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace natten_sim {

/// An L2 of several partitions, as large NVIDIA GPUs have: each SM is attached to one of them, each address
/// has its home in one of them, and what an SM reads of another partition is kept in its own as well.
///
/// A read of a block looks in the reader's partition. If bytes are missing there and their home is another
/// partition, they are fetched from it over the fabric between partitions. If they are missing at home, they
/// are read from DRAM and kept at home. The reader's partition keeps what came, and evicts its least recently
/// used blocks. A store is kept in the writer's partition and at home, and does not read DRAM.
///
/// So data that all SMs read are kept once in each partition, and have the capacity of one partition. Data
/// that the SMs of one partition read are kept once, except for what is at home elsewhere. Every reader that
/// misses asks the home, so homes keep what local copies lose: readers that follow each other at a distance
/// find up to twice as much. On an H200 this is what counters show, of reads and of stores (docs/l2-model.md).
///
/// Homes alternate every few KiB by a hash of the address (4 KiB on an H200). The model assumes that the
/// bytes of a block are at home in equal parts in all partitions. So blocks should be larger than that size
/// times the number of partitions.

struct L2Shape {
  std::int64_t partition_bytes = 0;  ///< of each partition
  std::int32_t partitions = 1;       ///< 1..8
  /// Ways of a set, each of which holds a part of a block; neighbouring blocks load sets evenly. None: fully
  /// associative.
  std::optional<std::int32_t> ways = {};
};

class PartitionedL2 {
 public:
  /// For blocks 0 .. blocks - 1. `usual_block_bytes` is the size of the most frequent blocks, the KV tiles; a
  /// way holds that much. Takes 12 bytes of memory a block for each pair of partitions. @throws
  /// InvalidParameter on a shape out of range.
  PartitionedL2(std::int64_t blocks, std::int64_t usual_block_bytes, std::int64_t sector_bytes,
                const L2Shape& shape);
  ~PartitionedL2();

  struct Read {
    std::int64_t dram_bytes = 0;    ///< missed at home
    std::int64_t fabric_bytes = 0;  ///< missed in the reader's partition and came from another
  };
  /// `bytes`: a whole number of sectors. Requires 0 <= partition < partitions.
  Read read(std::int64_t block, std::int64_t bytes, std::int32_t partition);
  /// @returns the bytes that crossed to a home in another partition. Requires what `read` does.
  std::int64_t write(std::int64_t block, std::int64_t bytes, std::int32_t partition);

  [[nodiscard]] std::int32_t partitions() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natten_sim
