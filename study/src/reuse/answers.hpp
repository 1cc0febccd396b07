#pragma once

#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>

#include "setting.hpp"

namespace natten_sim::study {

using Progress = std::function<void(double)>;

/// One order of one subject. A `BestOrder` is decided here. @throws Error.
[[nodiscard]] ReuseResult answer_attention(const ReuseSetting& setting, const AttentionSetting& attention,
                                           const ReuseOrder& order, const Progress& progress);
[[nodiscard]] ReuseResult answer_stream(const ReuseSetting& setting, const StreamSubject& stream,
                                        const ReuseOrder& order, const Progress& progress);
[[nodiscard]] ReuseResult answer_trace(const ReuseSetting& setting, const TraceSubject& trace,
                                       const Progress& progress);

/// @throws InvalidParameter for more sectors, or reads of them, than an LRU cache is simulated of.
void require_simulable(const StreamSubject& stream, std::int64_t sectors, bool sampled);

// ---- Shared by the three.

/// Part `index` of `parts` equal ones.
[[nodiscard]] Progress part_of(const Progress& progress, int index, int parts);

/// Sectors read from DRAM. Stores allocate without a read.
struct MissSectors {
  std::int64_t loads = 0;
  std::int64_t stores = 0;
};
void set_misses(const MissSectors& misses, std::int64_t sector_bytes, ReuseResult& result);

[[nodiscard]] bool wants_distances(const ReuseDetails& details);
void set_distances(const ReuseProfile& profile, const ReuseDetails& details, ReuseResult& result);

/// A formula's misses at 16 capacities an octave, where its histogram has counts.
[[nodiscard]] std::vector<ReuseProfile::Point> sampled_curve(
    const std::vector<ReuseProfile::Point>& histogram,
    const std::function<std::int64_t(std::int64_t)>& misses);

/// The cache of a replay that has ways, and the rate of one that samples.
[[nodiscard]] std::optional<SetAssociativeCache> cache_of(const ReuseSetting& setting);
[[nodiscard]] std::optional<SampledStackDistances> sample_of(const ReuseSetting& setting);
/// @throws InvalidParameter when no sector was sampled.
[[nodiscard]] MissRatioEstimate estimated_misses(const SampledStackDistances& sample, std::int64_t capacity);

}  // namespace natten_sim::study
