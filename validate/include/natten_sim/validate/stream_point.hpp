#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/kernels/stream.hpp>
#include <natten_sim/sim/partitioned_stream.hpp>

namespace natten_sim::validate {

/// A stream with all its parameters: which SMs read, and whether some of them lag behind the others.

enum class StreamReaderSet { kAll, kOnePartition };  ///< all SMs, or those near one partition of the L2

/// Two groups, of which one lags: every other SM of each partition, or all SMs of one partition.
enum class StreamGroups { kTogether, kMixed, kByPartition };

struct StreamPoint {
  std::int64_t buffer_mib = 0;
  int passes = 8;
  int ctas = 0;  ///< 0: one an SM
  kernels::StreamOrder order = kernels::StreamOrder::kCyclic;
  std::int64_t step_cycles = 0;
  StreamReaderSet readers = StreamReaderSet::kAll;
  StreamGroups groups = StreamGroups::kTogether;
  std::int64_t lag_mib = 0;  ///< between groups

  /// Whether it matters which SM is near which partition.
  [[nodiscard]] bool tells_sms_apart() const noexcept {
    return readers != StreamReaderSet::kAll || groups != StreamGroups::kTogether;
  }
};

[[nodiscard]] const char* to_string(StreamReaderSet readers) noexcept;
[[nodiscard]] const char* to_string(StreamGroups groups) noexcept;
/// @throws UnknownName.
[[nodiscard]] StreamReaderSet stream_readers_of(const std::string& name);
[[nodiscard]] StreamGroups stream_groups_of(const std::string& name);

/// @throws InvalidParameter on what no stream can have: a group that lags by nothing, a lag of no group, SMs
/// told apart at full speed or with a chosen number of CTAs, one partition as two groups by partition.
void require_valid(const StreamPoint& point);

/// Delay of each SM in steps for `kernels::stream_delays`, given its partition (0 or 1). Requires both to be
/// there, as in a list of `kernels::sm_partitions` with two partitions.
[[nodiscard]] std::vector<std::int32_t> sm_delays(const StreamPoint& point,
                                                  const std::vector<std::int32_t>& partition_of_sm);

/// The same for the model: one group for each partition and lag that there is.
[[nodiscard]] std::vector<StreamReaders> reading_groups(const StreamPoint& point, std::int32_t partitions);

}  // namespace natten_sim::validate
