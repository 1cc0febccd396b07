#pragma once

#include <cstdint>
#include <memory>

namespace natten_sim {

/// An L2 of several partitions, as large NVIDIA GPUs have: each SM is attached to one of them, each address
/// has its home in one of them, and what an SM reads of another partition is kept in its own as well.
///
/// A read of a block looks in the reader's partition. What is missing there is asked of its home over the
/// fabric between partitions, unless home is here; what is missing at home is read from DRAM and kept at
/// home. The reader's partition keeps what came, evicting its least recently used. A store goes home.
///
/// So data that all SMs read are kept once in each partition: they share the capacity of one. Data that the
/// SMs of one partition read are kept once, but for what is at home elsewhere; and because homes are asked by
/// everybody who missed, they keep what local copies lose: readers that follow each other at a distance find
/// up to twice as much. On an H200 this is what counters show (docs/l2-reuse.md).
///
/// Homes alternate every few KiB by a hash of the address (4 KiB on an H200), so a block's bytes are taken to
/// be at home in equal parts everywhere: blocks should be larger than that times the partitions.

struct L2Shape {
  std::int64_t partition_bytes = 0;  ///< of each partition
  std::int32_t partitions = 1;       ///< 1..8
  std::int32_t ways = 0;             ///< 0: fully associative; otherwise sets of so many parts of a block,
                                     ///< loaded evenly by neighbouring blocks
};

class PartitionedL2 {
 public:
  /// For blocks 0 .. blocks - 1. `usual_block_bytes`: of the blocks that are most, KV tiles: what a way
  /// holds. 12 bytes of memory a block, for each pair of partitions. @throws InvalidParameter on a shape out
  /// of range.
  PartitionedL2(std::int64_t blocks, std::int64_t usual_block_bytes, std::int64_t sector_bytes,
                const L2Shape& shape);
  ~PartitionedL2();

  struct Read {
    std::int64_t dram_bytes = 0;    ///< missed at home
    std::int64_t fabric_bytes = 0;  ///< missed in the reader's partition and came from another
  };
  /// `bytes`: a whole number of sectors. Requires 0 <= partition < partitions.
  Read read(std::int64_t block, std::int64_t bytes, std::int32_t partition);
  void write(std::int64_t block, std::int64_t bytes);

  [[nodiscard]] std::int32_t partitions() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natten_sim
