#include <algorithm>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/reuse/partitioned_stream.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxReads = std::int64_t{1} << 31;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 26;

void require_within(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidParameter(name, std::to_string(value), std::to_string(least) + ".." + std::to_string(most));
}

void require_valid(const PartitionedStream& stream, std::int64_t sector_bytes, const L2Shape& shape) {
  require_within("sector_bytes", sector_bytes, 1, 1 << 20);
  require_within("step_bytes", stream.step_bytes, sector_bytes, std::int64_t{1} << 30);
  if (stream.step_bytes % sector_bytes != 0) {
    throw InvalidParameter("step_bytes", std::to_string(stream.step_bytes),
                           "a multiple of " + std::to_string(sector_bytes));
  }
  require_within("steps", stream.steps, 1, kMaxSteps);
  require_within("passes", stream.passes, 1, kMaxReads);
  if (stream.readers.empty()) throw InvalidParameter("readers", "none", "one group or more");
  for (const StreamReaders& each : stream.readers) {
    if (shape.partitions >= 1) require_within("partition", each.partition, 0, shape.partitions - 1);
    require_within("lag_steps", each.lag_steps, 0, kMaxReads);
  }
  const auto readers = static_cast<std::int64_t>(stream.readers.size());
  require_within("reads of steps", checked_multiply(stream.steps * readers, stream.passes, "reads of steps"),
                 1, kMaxReads);
}

}  // namespace

PartitionedStreamReads read_in_step(const PartitionedStream& stream, std::int64_t sector_bytes,
                                    const L2Shape& shape) {
  require_valid(stream, sector_bytes, shape);
  PartitionedL2 l2(stream.steps, stream.step_bytes, sector_bytes, shape);
  const std::int64_t walk = stream.steps * stream.passes;
  std::int64_t last_lag = 0;
  for (const StreamReaders& each : stream.readers) last_lag = std::max(last_lag, each.lag_steps);
  PartitionedStreamReads reads;
  for (std::int64_t now = 0; now < walk + last_lag; ++now) {
    for (const StreamReaders& each : stream.readers) {
      poll();
      const std::int64_t at = now - each.lag_steps;
      if (at < 0 || at >= walk) continue;
      const std::int64_t step = at % stream.steps;
      const bool descending = stream.sawtooth && at / stream.steps % 2 != 0;
      const PartitionedL2::Read read =
          l2.read(descending ? stream.steps - 1 - step : step, stream.step_bytes, each.partition);
      reads.dram_bytes += read.dram_bytes;
      reads.fabric_bytes += read.fabric_bytes;
    }
  }
  return reads;
}

}  // namespace natten_sim
