#include "tiles/group_count.hpp"

#include <algorithm>

#include "tiles/floor_sum.hpp"
#include "tiles/tile_cut.hpp"

// Walked tiles are added up in progressions (tile_cut.hpp) between two breaks of the staircases.

namespace natten_sim {
namespace {

/// Begin and end of the windows of the first and the last token of walked tiles, all progressions of one
/// length. `begin_slope` is of both begins, `end_slope` of both ends.
struct TileProgression {
  std::int64_t begin_first = 0, begin_last = 0, end_first = 0, end_last = 0;
  std::int64_t begin_slope = 0, end_slope = 0;
  std::int64_t count = 1;

  /// Under dynamic tiling tokens count from the first that the tile attends to.
  [[nodiscard]] TileProgression from_own_origin() const noexcept {
    return {.begin_first = 0,
            .begin_last = begin_last - begin_first,
            .end_first = end_first - begin_first,
            .end_last = end_last - begin_first,
            .begin_slope = 0,
            .end_slope = end_slope - begin_slope,
            .count = count};
  }
};

class Counter {
 public:
  Counter(const AxisBand& band, const AxisTiles& sizes, bool is_static)
      : band_(band), sizes_(sizes), streamed_(sizes.streamed), is_static_(is_static) {}

  void add_tile(std::int64_t first, std::int64_t last) noexcept {
    count_.add(visits_of(band_, streamed_, is_static_, first, last));
  }
  void add_stretch(std::int64_t first_token, std::int64_t tiles);
  [[nodiscard]] const GroupCount& count() const noexcept { return count_; }

 private:
  [[nodiscard]] TileProgression tiles_at(std::int64_t first, std::int64_t begin_slope, std::int64_t end_slope,
                                         std::int64_t count) const noexcept;
  [[nodiscard]] std::int64_t run_length(std::int64_t first, std::int64_t most) const noexcept;
  void add_phases(std::int64_t first_token, std::int64_t tiles, std::int64_t phases);
  void add_runs(std::int64_t first_token, std::int64_t tiles);
  void add(const TileProgression& tiles);
  void add_full(const TileProgression& tiles, bool ends_with_axis);
  void add_most_visited(const TileProgression& tiles);

  const AxisBand& band_;
  const AxisTiles& sizes_;
  Divisor streamed_;
  bool is_static_;
  GroupCount count_;
};

/// Steps of the staircases that climb over a stretch of walked tiles.
struct Climbs {
  std::int64_t begin = 0, end = 0;  ///< 0: flat
  bool together = true;             ///< in phase, or only one takes steps of more than 1

  Climbs(const AxisBand& band, std::int64_t token)
      : begin(band.begin.climbs_from(token) ? band.begin.step.value() : 0),
        end(band.end.climbs_from(token) ? band.end.step.value() : 0),
        together(begin != end || begin <= 1 || (band.begin.phase - band.end.phase) % begin == 0) {}
  /// The step is that of both, or of one where the other is flat or takes steps of 1.
  [[nodiscard]] Steps steps() const noexcept { return {std::max({begin, end, std::int64_t{1}}), together}; }
};

TileProgression Counter::tiles_at(std::int64_t first, std::int64_t begin_slope, std::int64_t end_slope,
                                  std::int64_t count) const noexcept {
  const std::int64_t last = first + sizes_.walked - 1;
  return {.begin_first = band_.begin(first),
          .begin_last = band_.begin(last),
          .end_first = band_.end(first),
          .end_last = band_.end(last),
          .begin_slope = begin_slope,
          .end_slope = end_slope,
          .count = count};
}

/// Tiles from the one at `first` on, at most `most`, over which no staircase takes a step of more than 1.
std::int64_t Counter::run_length(std::int64_t first, std::int64_t most) const noexcept {
  for (const Staircase* stairs : {&band_.begin, &band_.end}) {
    if (!stairs->climbs_from(first) || stairs->step.value() == 1) continue;
    for (const std::int64_t token : {first, first + sizes_.walked - 1}) {
      const std::int64_t step = stairs->step.value();
      const std::int64_t until_next = step - (token + stairs->phase) % step;
      most = std::min(most, ceil_divide(until_next, sizes_.walked));
    }
  }
  return most;
}

void Counter::add_phases(std::int64_t first_token, std::int64_t tiles, std::int64_t phases) {
  const Climbs climbs(band_, first_token);
  const std::int64_t slope = phases * sizes_.walked;
  for (std::int64_t i = 0; i < phases; ++i) {
    add(tiles_at(first_token + i * sizes_.walked, climbs.begin > 0 ? slope : 0, climbs.end > 0 ? slope : 0,
                 (tiles - i - 1) / phases + 1));
  }
}

void Counter::add_runs(std::int64_t first_token, std::int64_t tiles) {
  const Climbs climbs(band_, first_token);
  for (std::int64_t tile = 0; tile < tiles;) {
    const std::int64_t first = first_token + tile * sizes_.walked;
    const std::int64_t length = run_length(first, tiles - tile);
    add(tiles_at(first, climbs.begin == 1 ? sizes_.walked : 0, climbs.end == 1 ? sizes_.walked : 0, length));
    tile += length;
  }
}

/// Adds `tiles` whole tiles from `first_token` on, between two breaks of the staircases.
void Counter::add_stretch(std::int64_t first_token, std::int64_t tiles) {
  const Cut cut = best_cut(Climbs(band_, first_token).steps(), sizes_.walked, tiles);
  if (cut.way == Cut::Way::kByPhase) return add_phases(first_token, tiles, cut.phases);
  if (cut.way == Cut::Way::kByRun) return add_runs(first_token, tiles);
  for (std::int64_t first = first_token, left = tiles; left > 0; --left, first += sizes_.walked)
    add_tile(first, first + sizes_.walked - 1);
}

void Counter::add(const TileProgression& absolute) {
  const bool ends_with_axis = absolute.end_slope == 0 && absolute.end_first == band_.length;
  const TileProgression tiles = is_static_ ? absolute : absolute.from_own_origin();
  count_.visited += ceil_sum({tiles.end_last, tiles.end_slope, tiles.count}, sizes_.streamed) -
                    floor_sum({tiles.begin_first, tiles.begin_slope, tiles.count}, sizes_.streamed);
  add_full(tiles, ends_with_axis);
  add_most_visited(tiles);
}

/// Full tiles: floor(end / tile) - ceil(begin / tile) where that is positive, and the last tile of an axis is
/// full though it is cut off. Where begin and end move together the difference is positive for all tiles or
/// none: for windows that are a streamed tile longer than the walked one, floor - ceil is at least 0, and
/// else at most 0. Else it rises or falls, so that the positive ones are the first or the last.
void Counter::add_full(const TileProgression& tiles, bool ends_with_axis) {
  const std::int64_t padding = ends_with_axis ? sizes_.streamed - 1 : 0;
  const Progression ends{tiles.end_first + padding, tiles.end_slope, tiles.count};
  const Progression begins{tiles.begin_last, tiles.begin_slope, tiles.count};
  const auto full = [&](std::int64_t i) { return streamed_.floor(ends(i)) - streamed_.ceil(begins(i)); };
  const auto add_part = [&](std::int64_t from, std::int64_t count) {
    if (count > 0)
      count_.full += floor_sum(ends.part(from, count), sizes_.streamed) -
                     ceil_sum(begins.part(from, count), sizes_.streamed);
  };
  if (ends.slope == begins.slope && ends.slope != 0) {
    if (ends.start - begins.start >= sizes_.streamed) add_part(0, tiles.count);
    return;
  }
  const bool rises = ends.slope > begins.slope;
  std::int64_t low = 0, high = tiles.count;  // where it becomes, or is no longer, positive
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if ((full(middle) > 0) == rises) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  rises ? add_part(low, tiles.count - low) : add_part(0, low);
}

void Counter::add_most_visited(const TileProgression& tiles) {
  const auto visited = [&](std::int64_t i) {
    return streamed_.ceil(tiles.end_last + i * tiles.end_slope) -
           streamed_.floor(tiles.begin_first + i * tiles.begin_slope);
  };
  count_.max_visited = std::max({count_.max_visited, visited(0), visited(tiles.count - 1)});
  if (tiles.begin_slope != tiles.end_slope || tiles.begin_slope == 0) return;  // it rises or falls
  // ceil((length + begin mod tile) / tile)
  const std::int64_t length = tiles.end_last - tiles.begin_first;
  if (streamed_.ceil(length + sizes_.streamed - 1) <= count_.max_visited) return;
  const std::int64_t residue =
      largest_residue({tiles.begin_first, tiles.begin_slope, tiles.count}, sizes_.streamed);
  count_.max_visited = std::max(count_.max_visited, streamed_.ceil(length + residue));
}

/// Breaks of the staircases, and the token at which the tiles end.
Breaks breaks_of(const AxisBand& band, std::int64_t end) noexcept {
  return {band.begin.low_until, band.begin.high_from, band.end.low_until, band.end.high_from, end};
}

}  // namespace

TileVisits visits_of(const AxisBand& band, const Divisor& streamed, bool is_static, std::int64_t first,
                     std::int64_t last) noexcept {
  const std::int64_t earliest_begin = band.begin(first), earliest_end = band.end(first);
  const std::int64_t origin = is_static ? streamed.floor_multiple(earliest_begin) : earliest_begin;
  TileVisits visits;
  visits.visited = streamed.ceil(band.end(last) - origin);
  visits.full_from = streamed.ceil(band.begin(last) - origin);
  visits.full_to = earliest_end == band.length ? visits.visited : streamed.floor(earliest_end - origin);
  return visits;
}

GroupCount count_group(const AxisBand& band, const AxisTiles& sizes, bool is_static, std::int64_t tiles) {
  Counter counter(band, sizes, is_static);
  const std::int64_t end =
      tiles >= ceil_divide(band.length, sizes.walked) ? band.length : tiles * sizes.walked;
  for_each_stretch(
      breaks_of(band, end), sizes.walked, band.length,
      [&](std::int64_t token, std::int64_t count) { counter.add_stretch(token, count); },
      [&](std::int64_t first, std::int64_t last) { counter.add_tile(first, last); });
  return counter.count();
}

std::int64_t group_count_steps(const AxisBand& band, const AxisTiles& sizes) {
  std::int64_t steps = 0;
  for_each_stretch(
      breaks_of(band, band.length), sizes.walked, band.length,
      [&](std::int64_t token, std::int64_t tiles) {
        steps += best_cut(Climbs(band, token).steps(), sizes.walked, tiles).steps;
      },
      [&](std::int64_t, std::int64_t) { ++steps; });
  return steps;
}

}  // namespace natten_sim
