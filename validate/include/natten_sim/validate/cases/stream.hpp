#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/kernels/stream/stream.hpp>
#include <natten_sim/sim/reuse/partitioned_stream.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// A stream with all its parameters: which SMs read, and whether some of them lag behind the others.

enum class StreamReaderSet { kAll, kOnePartition };  ///< all SMs, or those near one partition of the L2

/// Two groups, one of which lags. kMixed: every other SM of each partition lags. kByPartition: all SMs of one
/// partition lag.
enum class StreamGroups { kTogether, kMixed, kByPartition };

struct StreamCase final : Case {
  std::int64_t buffer_mib = 0;
  int passes = 8;
  int ctas = 0;  ///< 0: one an SM
  KvOrder order = KvOrder::kCyclic;
  std::int64_t step_cycles = 0;
  StreamReaderSet readers = StreamReaderSet::kAll;
  StreamGroups groups = StreamGroups::kTogether;
  std::int64_t lag_mib = 0;  ///< lag between the groups
  /// Memory that is allocated before the buffer, so that the buffer lies on other pages. Changes no
  /// prediction.
  std::int64_t beside_mib = 0;

  /// Whether the stream depends on which SM is near which partition.
  [[nodiscard]] bool tells_sms_apart() const noexcept {
    return readers != StreamReaderSet::kAll || groups != StreamGroups::kTogether;
  }

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  /// The same stream on at most 7 MiB.
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;
  void get_ready(Bench& bench) const override;
  [[nodiscard]] std::optional<Point> cyclic_partner() const override;
};

/// @throws InvalidParameter on contradictions: a group without a lag, a lag without groups, SMs told apart at
/// full speed or with a chosen number of CTAs, two groups by partition among readers of one partition.
void require_valid(const StreamCase& stream);

/// Delay of each SM in steps for `kernels::stream_delays`, given its partition (0 or 1). Both partitions must
/// occur, as in a list of `kernels::sm_partitions` with two partitions.
[[nodiscard]] std::vector<std::int32_t> sm_delays(const StreamCase& stream,
                                                  const std::vector<std::int32_t>& partition_of_sm);

/// The readers for the model: one group for each partition and lag that occurs.
[[nodiscard]] std::vector<StreamReaders> reading_groups(const StreamCase& stream, std::int32_t partitions);

}  // namespace natten_sim::validate

namespace natten_sim {

template <>
struct NamesOf<validate::StreamReaderSet> {
  using Set = validate::StreamReaderSet;
  static constexpr const char* kConcept = "readers";
  static constexpr Name<Set> kTable[] = {{Set::kAll, "all"}, {Set::kOnePartition, "one-partition"}};
};

template <>
struct NamesOf<validate::StreamGroups> {
  using Groups = validate::StreamGroups;
  static constexpr const char* kConcept = "groups";
  static constexpr Name<Groups> kTable[] = {
      {Groups::kTogether, "together"}, {Groups::kMixed, "mixed"}, {Groups::kByPartition, "by-partition"}};
};

}  // namespace natten_sim
