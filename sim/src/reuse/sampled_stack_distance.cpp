#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>

namespace natten_sim {
namespace {

constexpr double kHashes = 1ULL << 56;
constexpr double kShareOfOthers = 1.0 - 1.0 / SampledStackDistances::kGroups;

/// What a sample says at one capacity: of all its groups, or of all but one.
struct SampleTotals {
  double misses = 0, accesses = 0;
};

/// Misses that go with a surplus access: the slope of misses over accesses among groups, without group
/// `left_out`.
double slope_of(const std::vector<SampleTotals>& groups, std::size_t left_out) {
  SampleTotals mean;
  double count = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g == left_out) continue;
    mean.misses += groups[g].misses;
    mean.accesses += groups[g].accesses;
    ++count;
  }
  mean = {mean.misses / count, mean.accesses / count};
  double covariance = 0, variance = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g == left_out) continue;
    const double surplus = groups[g].accesses - mean.accesses;
    covariance += surplus * (groups[g].misses - mean.misses);
    variance += surplus * surplus;
  }
  return variance > 0 ? std::clamp(covariance / variance, 0.0, 1.0) : 0.0;
}

/// `expected`: accesses that a sample of this rate has on average.
double regressed_ratio(const SampleTotals& sample, double expected, double slope) {
  return std::clamp((sample.misses - slope * (sample.accesses - expected)) / expected, 0.0, 1.0);
}

}  // namespace

SampledStackDistances::SampledStackDistances(double rate, std::uint64_t seed)
    : rate_(rate), seed_(hashed_bits(seed)) {
  if (!(rate > 0 && rate <= 1))
    throw InvalidParameter("sample", std::to_string(rate), "a rate in 0 < R <= 1");
  threshold_ = static_cast<std::uint64_t>(std::ceil(rate * kHashes));
}

void SampledStackDistances::access(std::uint64_t block, std::int64_t bytes, std::int64_t weight) {
  accesses_ += weight;
  const std::uint64_t hash = hashed_bits(block ^ seed_);
  if ((hash >> 8) >= threshold_) return;
  const auto number = numbers_.try_emplace(block, static_cast<std::int64_t>(numbers_.size())).first->second;
  // The block itself is counted in full; the blocks above it are a sample and are scaled by its rate.
  const auto scaled = [&](const std::optional<std::int64_t>& distance, double rate) {
    std::optional<std::int64_t> whole = distance;
    if (distance) whole = bytes + std::llround(static_cast<double>(*distance - bytes) / rate);
    return whole;
  };
  const std::size_t group = hash % kGroups;
  groups_[group].add(scaled(distances_.access(number, bytes), rate_), weight);
  if (rate_ == 1) return;  // nothing is uncertain
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (g == group) continue;
    without_[g].add(scaled(distances_without_[g].access(number, bytes), rate_ * kShareOfOthers), weight);
  }
}

MissRatioEstimate SampledStackDistances::miss_ratio(std::int64_t capacity_bytes) const {
  if (capacity_bytes < 0)
    throw InvalidParameter("capacity_bytes", std::to_string(capacity_bytes), "0 or more");
  const auto totals = [&](const ReuseProfile& profile) {
    return SampleTotals{static_cast<double>(profile.misses(capacity_bytes)),
                        static_cast<double>(profile.accesses())};
  };
  MissRatioEstimate estimate;
  std::vector<SampleTotals> groups;
  SampleTotals all;
  for (const ReuseProfile& group : groups_) {
    groups.push_back(totals(group));
    all.misses += groups.back().misses;
    all.accesses += groups.back().accesses;
    estimate.sampled_accesses += group.accesses();
  }
  if (estimate.sampled_accesses == 0) return {0, 1, 0};  // nothing was sampled: nothing is known
  if (rate_ == 1) {
    estimate.miss_ratio = all.misses / all.accesses;
    return estimate;
  }
  const double expected = rate_ * static_cast<double>(accesses_);
  estimate.miss_ratio = regressed_ratio(all, expected, slope_of(groups, kGroups));
  std::vector<double> without;
  double mean = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    without.push_back(regressed_ratio(totals(without_[g]), expected * kShareOfOthers, slope_of(groups, g)));
    mean += without.back() / static_cast<double>(kGroups);
  }
  double squares = 0;
  for (const double ratio : without) squares += (ratio - mean) * (ratio - mean);
  estimate.standard_error = std::sqrt(squares * kShareOfOthers);
  return estimate;
}

ReuseProfile SampledStackDistances::pooled() const {
  ReuseProfile all;
  for (const ReuseProfile& group : groups_) {
    for (const ReuseProfile::Point& point : group.distances()) all.add(point.bytes, point.count);
    if (group.cold() > 0) all.add(std::nullopt, group.cold());
  }
  return all;
}

}  // namespace natten_sim
