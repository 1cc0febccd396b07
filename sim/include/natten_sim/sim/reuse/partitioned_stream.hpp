#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/sim/reuse/partitioned_l2.hpp>

namespace natten_sim {

/// What readers of one buffer that run in step read from DRAM and over the fabric between partitions of the
/// L2.
///
/// Readers walk the buffer in steps, one in each unit of time, all at the same pace. A group that lags reads
/// what the others read `lag_steps` units earlier. SMs of one partition with the same lag are one group: the
/// others find what the first of them reads.
///
/// For two partitions of C bytes, a buffer of N bytes and P cyclic passes, away from the points where it
/// turns (and with a fully associative L2):
///   all SMs together: N from DRAM while N <= C, P N above;
///   SMs of one partition: N up to C, then (1 + (P - 1) / 2) N up to 2 C, since the half that is at home in
///   the other partition is found there, then P N;
///   two groups, one L bytes behind, one pass: N while L <= C / 2 where both groups have SMs in both
///   partitions, and while L <= C / 1.5 where each has one partition to itself; 2 N far above, less what the
///   laggards find while they are alone, at the end, or the leaders were, at the start.
///
/// Not modelled: SMs of a group drifting apart, bandwidth, an L2 that is not strictly LRU.

struct StreamReaders {
  std::int32_t partition = 0;
  std::int64_t lag_steps = 0;
};

struct PartitionedStream {
  std::int64_t steps = 0;       ///< steps of one pass
  std::int64_t step_bytes = 0;  ///< a whole number of sectors
  std::int64_t passes = 1;
  bool sawtooth = false;  ///< every other pass descends
  std::vector<StreamReaders> readers;
};

struct PartitionedStreamReads {
  std::int64_t dram_bytes = 0;
  std::int64_t fabric_bytes = 0;  ///< what one partition asked of another
};

/// O(passes * steps * readers * partitions + lag), 12 * partitions^2 bytes of memory a step. At most 2^26
/// steps and, over all readers and passes, 2^31 reads of steps. @throws InvalidParameter on anything out of
/// range.
[[nodiscard]] PartitionedStreamReads read_in_step(const PartitionedStream& stream, std::int64_t sector_bytes,
                                                  const L2Shape& shape);

}  // namespace natten_sim
