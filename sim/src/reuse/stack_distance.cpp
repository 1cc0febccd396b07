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
  const auto keep = [&](std::size_t position) {
    block_at_[kept] = block_at_[position];
    last_[block_at_[kept]] = static_cast<std::uint32_t>(kept);
    ++kept;
  };
  if (equal_) {
    equal_positions_.for_each_live(keep);
  } else {
    for (std::size_t i = 0; i < next_; ++i) {
      if (weight_[i] == 0) continue;
      weight_[kept] = weight_[i];
      keep(i);
    }
  }
  next_ = kept;
  block_at_.resize(positions);
  if (equal_) {
    equal_positions_.reset(positions, kept);
  } else {
    rebuild_sums(kept);
  }
}

/// The tree over the weights of `kept` positions.
void StackDistances::rebuild_sums(std::size_t kept) {
  const std::size_t positions = block_at_.size();
  weight_.resize(positions);
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

/// From bits to weights: a block of another size has come.
void StackDistances::take_weights() {
  weight_.assign(block_at_.size(), 0);
  equal_positions_.for_each_live(
      [&](std::size_t position) { weight_[position] = static_cast<std::uint32_t>(equal_bytes_); });
  equal_ = false;
  equal_positions_ = {};
  rebuild_sums(next_);
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
  if (next_ == 0) equal_bytes_ = bytes;
  if (equal_ && bytes != equal_bytes_) take_weights();
  const std::uint32_t old = last_[index];
  if (old != kNever && old + 1 == next_ && (equal_ || weight_[old] == bytes))
    return bytes;  // on top of the stack: nothing moves
  std::optional<std::int64_t> distance;
  if (old != kNever) {
    distance = equal_ ? (equal_positions_.live_behind(old) + 1) * bytes : sum_behind_position(old) + bytes;
    forget(old);
  } else {
    ++live_;
  }
  if (next_ == block_at_.size()) rebuild(std::max(kFewestPositions, 2 * static_cast<std::size_t>(live_)));
  last_[index] = static_cast<std::uint32_t>(next_);
  block_at_[next_] = static_cast<std::uint32_t>(index);
  live_bytes_ += bytes;
  if (equal_) {
    equal_positions_.append();
  } else {
    weight_[next_] = static_cast<std::uint32_t>(bytes);
    add(next_, bytes);
  }
  ++next_;
  return distance;
}

void StackDistances::forget(std::size_t position) {
  if (equal_) {
    live_bytes_ -= equal_bytes_;
    equal_positions_.kill(position);
    return;
  }
  live_bytes_ -= weight_[position];
  add(position, -static_cast<std::int64_t>(weight_[position]));
  weight_[position] = 0;
}

}  // namespace natten_sim
