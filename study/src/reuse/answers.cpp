#include "answers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::study {

Progress part_of(const Progress& progress, int index, int parts) {
  if (!progress || parts == 1) return progress;
  return [progress, index, parts](double fraction) { progress((index + fraction) / parts); };
}

void set_misses(const MissSectors& misses, std::int64_t sector_bytes, ReuseResult& result) {
  result.miss_sectors = misses.loads + misses.stores;
  result.hit_rate = 1.0 - static_cast<double>(misses.loads) / static_cast<double>(result.sectors.total);
  result.dram_read_bytes = checked_multiply(misses.loads, sector_bytes, "dram_read_bytes");
}

bool wants_distances(const ReuseDetails& details) {
  return details.mean_distance || details.histogram || details.curve;
}

void set_distances(const ReuseProfile& profile, const ReuseDetails& details, ReuseResult& result) {
  if (details.mean_distance) result.mean_distance_bytes = profile.mean_bytes();
  if (details.histogram) result.histogram = profile.histogram();
  if (details.curve) result.curve = profile.miss_curve();
}

std::vector<ReuseProfile::Point> sampled_curve(const std::vector<ReuseProfile::Point>& histogram,
                                               const std::function<std::int64_t(std::int64_t)>& misses) {
  constexpr std::int64_t kSteps = 16;
  std::vector<ReuseProfile::Point> curve = {{0, misses(0)}};
  if (histogram.empty()) return curve;
  const std::int64_t first = std::max<std::int64_t>(1, histogram.front().bytes / 2);
  for (std::int64_t octave = first; octave < histogram.back().bytes; octave *= 2) {
    for (std::int64_t i = 1; i <= kSteps; ++i) {
      const std::int64_t capacity = octave + octave * i / kSteps;
      if (capacity > curve.back().bytes) curve.push_back({capacity, misses(capacity)});
    }
  }
  return curve;
}

std::optional<SetAssociativeCache> cache_of(const ReuseSetting& setting) {
  const auto* replay = std::get_if<LruReplay>(&*setting.question.method);
  const auto* sets = replay ? std::get_if<SetAssociative>(&replay->cache) : nullptr;
  if (sets == nullptr) return std::nullopt;
  return SetAssociativeCache(
      {.sets = sets_of_capacity(*setting.capacity(), sets->ways, *setting.question.line_bytes),
       .ways = sets->ways,
       .replacement = sets->replacement,
       .index = sets->index,
       .seed = sets->seed});
}

std::optional<SampledStackDistances> sample_of(const ReuseSetting& setting) {
  const auto* replay = std::get_if<LruReplay>(&*setting.question.method);
  const auto* sample = replay ? std::get_if<SampledLru>(&replay->cache) : nullptr;
  if (sample == nullptr) return std::nullopt;
  return SampledStackDistances(sample->rate, sample->seed);
}

MissRatioEstimate estimated_misses(const SampledStackDistances& sample, std::int64_t capacity) {
  const MissRatioEstimate estimate = sample.miss_ratio(capacity);
  if (estimate.sampled_accesses > 0) return estimate;
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), "%.12g", sample.rate());
  throw InvalidParameter("sample", rate.data(), "a larger share: none of the sectors was sampled");
}

}  // namespace natten_sim::study
