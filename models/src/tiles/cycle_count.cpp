#include "tiles/cycle_count.hpp"

#include <algorithm>
#include <numeric>

#include "tiles/floor_sum.hpp"
#include "tiles/tile_cut.hpp"

// The cycle is unrolled: token x + L is token x again, and the N streamed tiles of each turn are numbered on. A
// window is a range of that line wherever it lies, and so is the union of the windows of a walked tile. It
// touches tiles from that of its first token to that of its last, but never more than N: only in the turns'
// number of tiles does it differ from a range within one axis.
//
// A streamed tile is full unless some window leaves out one of its tokens. A window leaves out the L - w tokens
// after it. Between what two neighboring stride groups leave out there are stride - (L - w) tokens that both
// attend to; so a walked tile has full tiles in the gap around it, from what its last group leaves out on to
// what its first one does, and in the gaps between its groups. A pair of neighboring groups is in one walked tile
// unless a tile begins between them, so the gaps between groups are added up over all groups at once.

namespace natten_sim {
namespace {

std::int64_t floor_ratio(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

/// Begin or end of the windows along the walked tokens: non-decreasing, and a turn later a turn larger. Tokens of
/// stride group g, shifted, have g * step + offset; where groups are counted (backward: the queries of the
/// groups up to this one), one group more, and the last one of a turn is cut off.
struct CycleStairs {
  std::int64_t length = 0, step = 1;
  std::int64_t shift = 0, offset = 0;
  bool counts_groups = false;

  [[nodiscard]] std::int64_t within_turn(std::int64_t x) const noexcept {
    return x + shift - floor_ratio(x + shift, length) * length;
  }
  [[nodiscard]] std::int64_t operator()(std::int64_t x) const noexcept {
    const std::int64_t inside = within_turn(x);
    std::int64_t groups = inside / step * step;
    if (counts_groups) groups = std::min(groups + step, length);
    return x + shift - inside + groups + offset;
  }
  /// Over the cut-off group.
  [[nodiscard]] bool is_flat(std::int64_t x) const noexcept {
    return counts_groups && within_turn(x) >= length / step * step;
  }
  [[nodiscard]] std::int64_t until_step(std::int64_t x) const noexcept {
    return is_flat(x) ? length : step - within_turn(x) % step;
  }
  /// The walked token at which a turn, or its cut-off group, begins.
  [[nodiscard]] std::int64_t turn_begin() const noexcept { return shift > 0 ? length - shift : -shift; }
  [[nodiscard]] std::int64_t cut_begin() const noexcept {
    return (turn_begin() + length / step * step) % length;
  }
};

struct CycleBand {
  CycleStairs begin, end;

  CycleBand(const AxisGroup& group, Walk walk) {
    const std::int64_t first = group.stride / 2 - group.window / 2;  // of the window of group 0
    begin = end = {.length = group.length, .step = group.stride};
    if (walk == Walk::kForward) {
      begin.offset = first;
      end.offset = first + group.window;
    } else {  // queries of a key: those of groups whose window begins at or before it, but does not end there
      begin.counts_groups = end.counts_groups = true;
      begin.shift = -first - group.window;
      end.shift = -first;
    }
  }
  [[nodiscard]] Breaks breaks() const noexcept {
    return {begin.turn_begin(), begin.cut_begin(), end.turn_begin(), end.cut_begin(), begin.length};
  }
  [[nodiscard]] Steps steps(std::int64_t token) const noexcept {
    const bool begins = !begin.is_flat(token), ends = !end.is_flat(token);
    return {begins || ends ? begin.step : 1, !begins || !ends || (begin.shift - end.shift) % begin.step == 0};
  }
  /// Walked tiles of `size` tokens from the one at `first` on over which neither moves.
  [[nodiscard]] std::int64_t run_length(std::int64_t first, std::int64_t size) const noexcept {
    std::int64_t tokens = begin.length;
    for (const std::int64_t token : {first, first + size - 1})
      tokens = std::min({tokens, begin.until_step(token), end.until_step(token)});
    return ceil_divide(tokens, size);
  }
};

/// Calls add(first, last, count, distance) for progressions of walked tiles: the first of them has the tokens
/// first .. last, each next one lies `distance` tokens on.
template <typename Add>
void for_each_progression(const CycleBand& band, std::int64_t walked, const Add& add) {
  for_each_stretch(
      band.breaks(), walked, band.begin.length,
      [&](std::int64_t token, std::int64_t tiles) {
        const Cut cut = best_cut(band.steps(token), walked, tiles);
        const auto tile = [&](std::int64_t index, std::int64_t count, std::int64_t apart) {
          const std::int64_t first = token + index * walked;
          add(first, first + walked - 1, count, apart * walked);
        };
        for (std::int64_t i = 0; cut.way == Cut::Way::kByPhase && i < cut.phases; ++i)
          tile(i, (tiles - i - 1) / cut.phases + 1, cut.phases);
        for (std::int64_t i = 0; cut.way != Cut::Way::kByPhase && i < tiles;) {
          const bool runs = cut.way == Cut::Way::kByRun;
          const std::int64_t count =
              runs ? std::min(tiles - i, band.run_length(token + i * walked, walked)) : 1;
          tile(i, count, 1);
          i += count;
        }
      },
      [&](std::int64_t first, std::int64_t last) { add(first, last, 1, 0); });
}

/// The streamed tiles of all turns.
class Turns {
 public:
  Turns(std::int64_t length, std::int64_t tile)
      : length_(length), tile_(tile), tiles_(ceil_divide(length, tile)) {}

  /// Tiles that ranges from begins to ends, of one slope, touch.
  [[nodiscard]] Int128 touched(const Progression& begins, const Progression& ends) const {
    Int128 sum = 0;
    for_each_part(begins, ends, 1, [&](const Progression& from, const Progression& to, std::int64_t turns) {
      // Each touches `least` or one more.
      const std::int64_t least = turns - floor_ratio(from.start - to.start, tile_);
      sum += least >= tiles_ ? static_cast<Int128>(tiles_) * from.count
                             : ceil_sum(to, tile_) - floor_sum(from, tile_) +
                                   static_cast<Int128>(turns) * from.count;
    });
    return sum;
  }
  [[nodiscard]] std::int64_t most_touched(const Progression& begins, const Progression& ends) const {
    std::int64_t most = 0;
    for_each_part(begins, ends, 1, [&](const Progression& from, const Progression& to, std::int64_t turns) {
      const auto touches = [&](std::int64_t i) {
        return turns + ceil_divide(to(i), tile_) - from(i) / tile_;
      };
      most = std::max({most, touches(0), touches(from.count - 1)});  // of different slopes it rises or falls
      if (from.slope == to.slope && from.slope > 0)
        most = std::max(most, turns - floor_ratio(from.start - to.start - largest_residue(from, tile_), tile_));
    });
    return std::min(most, tiles_);
  }
  /// Tiles that lie within ranges from begins to ends, of one slope.
  [[nodiscard]] Int128 within(const Progression& begins, const Progression& ends) const {
    Int128 sum = 0;
    for_each_part(begins, ends, 0, [&](const Progression& from, const Progression& to, std::int64_t turns) {
      // `most` or one less lie in each.
      const std::int64_t most = turns + floor_ratio(to.start - from.start, tile_);
      if (most > 0)
        sum += floor_sum(to, tile_) - ceil_sum(from, tile_) + static_cast<Int128>(turns) * from.count;
    });
    return sum;
  }

 private:
  /// Calls part(begins, ends, tiles of the turns between) for parts that each lie within one turn: begins from
  /// its first token on, ends from `past` tokens after it on.
  template <typename Part>
  void for_each_part(const Progression& begins, const Progression& ends, std::int64_t past,
                     const Part& part) const {
    for (std::int64_t i = 0; i < begins.count;) {
      const std::int64_t from = floor_ratio(begins(i), length_) * length_;
      const std::int64_t to = floor_ratio(ends(i) - past, length_) * length_;
      std::int64_t count = begins.count - i;
      if (begins.slope > 0)
        count = std::min(count, ceil_divide(from + length_ - begins(i), begins.slope));
      if (ends.slope > 0) count = std::min(count, ceil_divide(to + length_ + past - ends(i), ends.slope));
      part({begins(i) - from, begins.slope, count}, {ends(i) - to, ends.slope, count},
           (to - from) / length_ * tiles_);
      i += count;
    }
  }

  std::int64_t length_, tile_, tiles_;
};

/// Full tiles in the gaps between neighboring stride groups of one walked tile.
Int128 full_between_groups(const AxisGroup& group, const CycleBand& band, std::int64_t walked,
                           const Turns& turns) {
  const std::int64_t stride = group.stride;
  if (stride <= group.length - group.window) return 0;
  const auto gaps = [&](std::int64_t after, std::int64_t groups) -> Int128 {
    // Gaps after the groups after-1, 2 after-1, ..: from a turn after one window begins to where the next ends.
    const std::int64_t count = (groups - 1) / after;
    if (count == 0) return 0;
    const std::int64_t first = (after - 1) * stride;
    return turns.within({band.begin(first) + group.length, after * stride, count},
                        {band.end(first + stride), after * stride, count});
  };
  const std::int64_t groups = ceil_divide(group.length, stride);
  return gaps(1, groups) - gaps(walked / std::gcd(walked, stride), groups);
}

}  // namespace

GroupCount count_cycle(const AxisGroup& group, const AxisTiles& tiles, Walk walk) {
  const bool forward = walk == Walk::kForward;
  const CycleBand band(group, walk);
  const Turns turns(group.length, tiles.streamed);
  GroupCount count;
  for_each_progression(band, tiles.walked, [&](std::int64_t first, std::int64_t last, std::int64_t number,
                                               std::int64_t distance) {
    const auto along = [&](const CycleStairs& stairs, std::int64_t token) {
      const std::int64_t slope = number > 1 ? stairs(token + distance) - stairs(token) : 0;
      return Progression{stairs(token), slope, number};
    };
    const Progression begins = along(band.begin, first), ends = along(band.end, last);
    count.max_visited = std::max(count.max_visited, turns.most_touched(begins, ends));
    if (!forward) return;
    count.visited += turns.touched(begins, ends);
    count.full += turns.within(along(band.begin, last), along(band.end, first));
  });
  if (!forward) {  // the pairs of tiles are those of the other walk
    const GroupCount other = count_cycle(group, {tiles.streamed, tiles.walked}, Walk::kForward);
    return {.visited = other.visited, .full = other.full, .max_visited = count.max_visited};
  }
  count.full += full_between_groups(group, band, tiles.walked, turns);
  return count;
}

std::int64_t cycle_count_steps(const AxisGroup& group, const AxisTiles& tiles, Walk walk) {
  const CycleBand band(group, walk);
  std::int64_t steps = 0;
  for_each_stretch(
      band.breaks(), tiles.walked, group.length,
      [&](std::int64_t token, std::int64_t count) {
        steps += best_cut(band.steps(token), tiles.walked, count).steps;
      },
      [&](std::int64_t, std::int64_t) { ++steps; });
  if (walk == Walk::kForward) return steps;
  return steps + cycle_count_steps(group, {tiles.streamed, tiles.walked}, Walk::kForward);
}

}  // namespace natten_sim
