#include <algorithm>
#include <bit>

#include <natten_sim/sim/reuse/stack_distance.hpp>

namespace natten_sim {
namespace {

constexpr std::uint64_t kFewestCounts = 1024;
constexpr std::int64_t kMostCounted = 0xffffffff;
constexpr std::uint64_t kMostCounts = std::uint64_t{1} << 22;

/// Both ascending. A distance whose count outgrows the array's words, or began before the array had room for
/// it, is in both.
std::vector<ReuseProfile::Point> merged(const std::vector<ReuseProfile::Point>& a,
                                        const std::vector<ReuseProfile::Point>& b) {
  std::vector<ReuseProfile::Point> points;
  points.reserve(a.size() + b.size());
  for (std::size_t i = 0, k = 0; i < a.size() || k < b.size();) {
    const bool from_a = k == b.size() || (i < a.size() && a[i].bytes <= b[k].bytes);
    const ReuseProfile::Point& next = from_a ? a[i++] : b[k++];
    if (!points.empty() && points.back().bytes == next.bytes) {
      points.back().count += next.count;
    } else {
      points.push_back(next);
    }
  }
  return points;
}

}  // namespace

bool ReuseProfile::widen(std::uint64_t distance) {
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(distance | (std::uint64_t{1} << shift_)));
  // Divided by a smaller power of two, what has been counted lies farther apart.
  const std::uint64_t spread = counts_.size() << std::min<std::uint32_t>(shift_ - shift, 32);
  const std::uint64_t needed = std::bit_ceil(std::max((distance >> shift) + 1, spread));
  const auto most = std::min(kMostCounts, std::max(kFewestCounts, 4 * static_cast<std::uint64_t>(accesses_)));
  if (needed > most) return false;
  std::vector<std::uint32_t> counts(needed, 0);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) counts[i << (shift_ - shift)] = counts_[i];
  }
  counts_.swap(counts);
  shift_ = shift;
  return true;
}

void ReuseProfile::rehash() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  used_ = 0;
  for (const Slot& slot : old) {
    if (slot.distance >= 0) add_to_table(slot.distance, slot.count);
  }
}

void ReuseProfile::add(const std::optional<std::int64_t>& distance, std::int64_t weight) {
  accesses_ += weight;
  if (!distance) {
    cold_ += weight;
    return;
  }
  const auto bytes = static_cast<std::uint64_t>(*distance);
  // What is no multiple of 2^shift_ is turned beyond the array by the rotation.
  std::uint64_t at = std::rotr(bytes, static_cast<int>(shift_));
  if (at >= counts_.size()) {
    if (!widen(bytes)) {
      add_to_table(*distance, weight);
      return;
    }
    at = bytes >> shift_;
  }
  if (weight < 0 || weight > kMostCounted - counts_[at]) {
    add_to_table(*distance, weight);
    return;
  }
  counts_[at] += static_cast<std::uint32_t>(weight);
}

void ReuseProfile::add_to_table(std::int64_t distance, std::int64_t weight) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (static_cast<std::uint64_t>(distance) * 0x9e3779b97f4a7c15ULL >> 32) & mask;
  while (slots_[at].distance != distance) {
    if (slots_[at].distance < 0) {
      slots_[at].distance = distance;
      ++used_;
      break;
    }
    at = (at + 1) & mask;
  }
  slots_[at].count += weight;
  if (used_ * 2 > slots_.size()) rehash();
}

std::int64_t ReuseProfile::misses(std::int64_t capacity_bytes) const {
  std::int64_t far = cold_;
  for (const Slot& slot : slots_) {
    if (slot.distance > capacity_bytes) far += slot.count;
  }
  const std::uint64_t within =
      capacity_bytes < 0 ? 0 : (static_cast<std::uint64_t>(capacity_bytes) >> shift_) + 1;
  for (std::uint64_t i = within; i < counts_.size(); ++i) far += counts_[i];
  return far;
}

std::optional<double> ReuseProfile::mean_bytes() const {
  if (accesses_ == cold_) return std::nullopt;
  double sum = 0;
  for (const Point& point : distances())
    sum += static_cast<double>(point.bytes) * static_cast<double>(point.count);
  return sum / static_cast<double>(accesses_ - cold_);
}

std::vector<ReuseProfile::Point> ReuseProfile::distances() const {
  std::vector<Point> points;
  for (const Slot& slot : slots_) {
    if (slot.distance >= 0) points.push_back({slot.distance, slot.count});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  std::vector<Point> counted;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) counted.push_back({static_cast<std::int64_t>(i << shift_), counts_[i]});
  }
  return merged(counted, points);
}

std::vector<ReuseProfile::Point> ReuseProfile::miss_curve() const {
  std::vector<Point> curve = {{0, accesses_}};
  for (const Point& point : distances()) curve.push_back({point.bytes, curve.back().count - point.count});
  return curve;
}

std::vector<ReuseProfile::Point> ReuseProfile::histogram() const {
  std::vector<Point> buckets;
  std::int64_t upto = 1;
  for (const Point& point : distances()) {
    while (upto < point.bytes) {
      upto *= 2;
      if (!buckets.empty()) buckets.push_back({upto, 0});
    }
    if (buckets.empty()) buckets.push_back({upto, 0});
    buckets.back().count += point.count;
  }
  return buckets;
}

}  // namespace natten_sim
