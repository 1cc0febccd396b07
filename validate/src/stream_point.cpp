#include <array>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/stream_point.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kStepsPerMib = (std::int64_t{1} << 20) / kernels::kStreamStepBytes;
constexpr std::int64_t kMostLagMib = std::int64_t{1} << 18;  // 2^24 steps

/// Whether the SMs of `partition`, or every other one of them (`odd`), lag.
bool lags(StreamGroups groups, std::int32_t partition, bool odd) {
  if (groups == StreamGroups::kMixed) return odd;
  return groups == StreamGroups::kByPartition && partition != 0;
}

bool reads(StreamReaderSet readers, std::int32_t partition) {
  return readers == StreamReaderSet::kAll || partition == 0;
}

/// The one of `all` with this name. @throws UnknownName.
template <typename Enum, std::size_t kCount>
Enum one_of(const std::array<Enum, kCount>& all, const char* parameter, const std::string& name) {
  std::vector<std::string> names;
  std::string known;
  for (const Enum each : all) {
    if (name == to_string(each)) return each;
    names.emplace_back(to_string(each));
    known += (known.empty() ? "" : ", ") + names.back();
  }
  throw UnknownName(parameter, name, closest_name(name, names), known);
}

}  // namespace

const char* to_string(StreamReaderSet readers) noexcept {
  return readers == StreamReaderSet::kAll ? "all" : "one-partition";
}

const char* to_string(StreamGroups groups) noexcept {
  return groups == StreamGroups::kTogether ? "together"
         : groups == StreamGroups::kMixed  ? "mixed"
                                           : "by-partition";
}

StreamReaderSet stream_readers_of(const std::string& name) {
  return one_of(std::array{StreamReaderSet::kAll, StreamReaderSet::kOnePartition}, "readers", name);
}

StreamGroups stream_groups_of(const std::string& name) {
  return one_of(std::array{StreamGroups::kTogether, StreamGroups::kMixed, StreamGroups::kByPartition},
                "groups", name);
}

void require_valid(const StreamPoint& point) {
  kernels::require_valid(kernels::StreamProblem{point.buffer_mib << 20, point.passes,
                                                point.ctas == 0 ? 1 : point.ctas, point.order,
                                                point.step_cycles});
  if (point.groups == StreamGroups::kTogether && point.lag_mib != 0) {
    throw InvalidParameter("lag_mib", std::to_string(point.lag_mib), "0 where groups are together", "0");
  }
  if (point.groups != StreamGroups::kTogether && (point.lag_mib < 1 || point.lag_mib > kMostLagMib)) {
    throw InvalidParameter("lag_mib", std::to_string(point.lag_mib), "1.." + std::to_string(kMostLagMib));
  }
  if (!point.tells_sms_apart()) return;
  if (point.readers == StreamReaderSet::kOnePartition && point.groups == StreamGroups::kByPartition)
    throw InvalidParameter("groups", "by-partition", "together or mixed where one partition reads");
  if (point.step_cycles == 0)
    throw InvalidParameter("step_cycles", "0", "1 or more where SMs are told apart", "1500");
  if (point.ctas != 0)
    throw InvalidParameter("ctas", std::to_string(point.ctas), "0, one an SM, where SMs are told apart", "0");
}

std::vector<std::int32_t> sm_delays(const StreamPoint& point,
                                    const std::vector<std::int32_t>& partition_of_sm) {
  std::array<int, 2> seen = {0, 0};
  std::vector<std::int32_t> delays;
  for (const std::int32_t partition : partition_of_sm) {
    const bool odd = seen.at(static_cast<std::size_t>(partition))++ % 2 != 0;
    const std::int64_t lag = lags(point.groups, partition, odd) ? point.lag_mib * kStepsPerMib : 0;
    delays.push_back(reads(point.readers, partition) ? static_cast<std::int32_t>(lag) : kernels::kStreamIdle);
  }
  return delays;
}

std::vector<StreamReaders> reading_groups(const StreamPoint& point, std::int32_t partitions) {
  std::vector<StreamReaders> leading, lagging;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    if (!reads(point.readers, partition)) continue;
    if (!lags(point.groups, partition, false)) leading.push_back({partition, 0});
    if (lags(point.groups, partition, true)) lagging.push_back({partition, point.lag_mib * kStepsPerMib});
  }
  leading.insert(leading.end(), lagging.begin(), lagging.end());
  return leading;
}

}  // namespace natten_sim::validate
