#include <cmath>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>

namespace natten_sim {
namespace {

constexpr double kHashes = 1ULL << 56;

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
  std::optional<std::int64_t> distance = distances_.access(number, bytes);
  // The block itself is counted in full; the blocks above it are a sample and are scaled by the rate.
  if (distance) distance = bytes + std::llround(static_cast<double>(*distance - bytes) / rate_);
  groups_[hash % kGroups].add(distance, weight);
}

MissRatioEstimate SampledStackDistances::miss_ratio(std::int64_t capacity_bytes) const {
  if (capacity_bytes < 0)
    throw InvalidParameter("capacity_bytes", std::to_string(capacity_bytes), "0 or more");
  MissRatioEstimate estimate;
  double misses = 0, total = 0;
  for (const ReuseProfile& group : groups_) {
    misses += static_cast<double>(group.misses(capacity_bytes));
    total += static_cast<double>(group.accesses());
    estimate.sampled_accesses += group.accesses();
  }
  if (total == 0) return {0, 1, 0};  // nothing was sampled: nothing is known
  estimate.miss_ratio = misses / total;
  if (rate_ == 1) return estimate;
  double squares = 0;
  for (const ReuseProfile& group : groups_) {
    const double residual = static_cast<double>(group.misses(capacity_bytes)) -
                            estimate.miss_ratio * static_cast<double>(group.accesses());
    squares += residual * residual;
  }
  estimate.standard_error = std::sqrt(squares * kGroups / (kGroups - 1.0)) / total;
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
