#include <algorithm>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

namespace natten_sim {
namespace {

constexpr std::size_t kRadixBits = 4;
constexpr std::size_t kRadix = std::size_t{1} << kRadixBits;
constexpr std::int64_t kMaxDistinctBlocks = std::int64_t{1} << 28;
constexpr std::int64_t kMaxAccessBytes = std::int64_t{1} << 31;
constexpr std::size_t kFewestPositions = 1024;

/// Row p selects the children after child p, so that sums need no branches; loops of random length would be
/// mispredicted.
template <typename Word>
struct alignas(64) BehindMasks {
  Word keep[kRadix][kRadix] = {};
  constexpr BehindMasks() {
    for (std::size_t p = 0; p < kRadix; ++p) {
      for (std::size_t i = p + 1; i < kRadix; ++i) keep[p][i] = ~Word{0};
    }
  }
};
constexpr BehindMasks<std::uint32_t> kBehind32;
constexpr BehindMasks<std::uint64_t> kBehind64;

template <typename Value, typename Word>
std::int64_t sum_behind(const std::vector<Value>& values, std::size_t position,
                        const BehindMasks<Word>& masks) {
  const Value* siblings = values.data() + position / kRadix * kRadix;
  const Word* keep = masks.keep[position % kRadix];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kRadix; ++i) sum += static_cast<Word>(siblings[i]) & keep[i];
  return static_cast<std::int64_t>(sum);
}

}  // namespace

StackDistances::StackDistances(std::int64_t expected_blocks) {
  const std::int64_t blocks = std::clamp<std::int64_t>(expected_blocks, 0, kMaxDistinctBlocks);
  last_.assign(static_cast<std::size_t>(blocks), kNever);
  rebuild(std::max(kFewestPositions, 2 * static_cast<std::size_t>(blocks)));
}

void StackDistances::grow_blocks(std::int64_t block) {
  const auto needed = static_cast<std::size_t>(block) + 1;
  last_.resize(std::max(needed, std::min(static_cast<std::size_t>(kMaxDistinctBlocks), last_.size() * 2)), kNever);
}

/// Moves the live positions to the front of an axis of at least `positions`, keeping their order.
void StackDistances::rebuild(std::size_t positions) {
  positions = (positions + kRadix - 1) / kRadix * kRadix;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < next_; ++i) {
    if (weight_[i] == 0) continue;
    weight_[kept] = weight_[i];
    block_at_[kept] = block_at_[i];
    last_[block_at_[kept]] = static_cast<std::uint32_t>(kept);
    ++kept;
  }
  next_ = kept;
  weight_.resize(positions);
  block_at_.resize(positions);
  std::fill(weight_.begin() + static_cast<std::ptrdiff_t>(kept), weight_.end(), 0);
  sums_.clear();
  for (std::size_t nodes = positions; nodes > kRadix;) {
    const std::size_t children = nodes;
    nodes = (nodes + kRadix - 1) / kRadix;
    std::vector<std::int64_t> level((nodes + kRadix - 1) / kRadix * kRadix, 0);
    for (std::size_t child = 0; child < children; ++child)
      level[child >> kRadixBits] += sums_.empty() ? weight_[child] : sums_.back()[child];
    sums_.push_back(std::move(level));
  }
}

void StackDistances::add(std::size_t position, std::int64_t bytes) {
  for (std::vector<std::int64_t>& level : sums_) {
    position >>= kRadixBits;
    level[position] += bytes;
  }
}

/// Sum of the weights after `position`. At each level only the siblings after it count. Nothing lies after
/// the newest position, so the walk ends at the first common parent of both.
std::int64_t StackDistances::sum_behind_position(std::size_t position) const {
  std::size_t newest = next_ - 1;
  std::int64_t sum = sum_behind(weight_, position, kBehind32);
  for (const std::vector<std::int64_t>& level : sums_) {
    position >>= kRadixBits;
    newest >>= kRadixBits;
    if (position == newest) break;
    sum += sum_behind(level, position, kBehind64);
  }
  return sum;
}

std::optional<std::int64_t> StackDistances::access(std::int64_t block, std::int64_t bytes) {
  if (block < 0 || block >= kMaxDistinctBlocks)
    throw InvalidParameter("block", std::to_string(block), "0..2^28-1: no more distinct blocks");
  if (bytes < 1 || bytes > kMaxAccessBytes)
    throw InvalidParameter("block bytes", std::to_string(bytes), "1..2^31");
  const auto index = static_cast<std::size_t>(block);
  if (index >= last_.size()) grow_blocks(block);
  std::optional<std::int64_t> distance;
  const std::uint32_t old = last_[index];
  if (old != kNever) {
    if (old + 1 == next_ && weight_[old] == bytes) return bytes;  // on top of the stack: nothing moves
    distance = sum_behind_position(old) + bytes;
    live_bytes_ -= weight_[old];
    add(old, -static_cast<std::int64_t>(weight_[old]));
    weight_[old] = 0;
  } else {
    ++live_;
  }
  if (next_ == weight_.size()) rebuild(std::max(kFewestPositions, 2 * static_cast<std::size_t>(live_)));
  last_[index] = static_cast<std::uint32_t>(next_);
  block_at_[next_] = static_cast<std::uint32_t>(index);
  weight_[next_] = static_cast<std::uint32_t>(bytes);
  live_bytes_ += bytes;
  add(next_, bytes);
  ++next_;
  return distance;
}

void ReuseProfile::rehash() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  used_ = 0;
  const std::int64_t accesses = accesses_;
  for (const Slot& slot : old) {
    if (slot.distance >= 0) add(slot.distance, slot.count);
  }
  accesses_ = accesses;
}

void ReuseProfile::add(const std::optional<std::int64_t>& distance, std::int64_t weight) {
  accesses_ += weight;
  if (!distance) {
    cold_ += weight;
    return;
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (static_cast<std::uint64_t>(*distance) * 0x9e3779b97f4a7c15ULL >> 32) & mask;
  while (slots_[at].distance != *distance) {
    if (slots_[at].distance < 0) {
      slots_[at].distance = *distance;
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
  return points;
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
