#include <cstdint>

#include <natten_sim/models/tiles/axis_count_memo.hpp>

namespace natten_sim {

std::size_t AxisCountMemo::place_of(const Question& question) {
  std::uint64_t hash = 0;
  const auto mix = [&](auto value) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    hash = (hash ^ static_cast<std::uint64_t>(value)) * kOdd;
    hash ^= hash >> 32;
  };
  const AxisMask& axis = question.axis;
  for (const std::int64_t value : {axis.length, axis.window, axis.stride, axis.dilation,
                                   question.tiles.walked, question.tiles.streamed})
    mix(value);
  mix(4 * static_cast<int>(axis.causal) + 2 * static_cast<int>(question.kv_tiling) +
      static_cast<int>(question.walk) + 8 * static_cast<int>(axis.cyclic));
  return static_cast<std::size_t>(hash) % kEntries;
}

AxisCount AxisCountMemo::count(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) {
  const Question question{axis, tiles, kv_tiling, walk};
  Entry& entry = entries_[place_of(question)];
  if (!entry.known || !(entry.question == question))
    entry = {question, count_axis(axis, tiles, kv_tiling, walk), true};
  return entry.count;
}

}  // namespace natten_sim
