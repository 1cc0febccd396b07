#include <algorithm>
#include <limits>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>

#include "tiles/axis_tokens.hpp"
#include "tiles/walks.hpp"

namespace natten_sim {
namespace {

/// The original (dilated) coordinates that a coordinate of one axis meets: begin, begin+step, .. < end; on a
/// cyclic axis modulo its length.
struct Progression {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class RunWalker {
 public:
  explicit RunWalker(const TilingProblem& problem)
      : problem_(problem),
        forward_(problem.walk == Walk::kForward),
        rank_(problem.mask.rank()),
        tokens_(product(input_of(problem.mask), "tokens")),
        row_(problem.mask[rank_ - 1].length),
        walked_(forward_ ? problem.tiles.q_tile[0] : problem.tiles.kv_tile[0]),
        streamed_(forward_ ? problem.tiles.kv_tile[0] : problem.tiles.q_tile[0]) {
    for (const AxisMask& axis : problem.mask) {
      std::vector<Progression> met(static_cast<std::size_t>(axis.length));
      for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
        poll();
        const std::vector<TokenRange> ranges = met_tokens(residue_class(axis, residue), problem.walk);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
          met[static_cast<std::size_t>(residue) + i * static_cast<std::size_t>(axis.dilation)] = {
              residue + ranges[i].begin * axis.dilation, residue + ranges[i].end * axis.dilation};
        }
      }
      met_.push_back(std::move(met));
    }
    pairs_met_.assign(static_cast<std::size_t>(ceil_divide(tokens_, streamed_)) + 1, 0);
  }

  WalkTotals walk(const TileVisitor& visit) {
    WalkTotals totals;
    for (std::int64_t first = 0; first < tokens_; first += walked_) {
      poll();
      const std::int64_t count = std::min(walked_, tokens_ - first);
      collect_runs(first, count);
      origin_ = problem_.kv_tiling == KvTiling::kStatic ? 0 : first_met();
      lowest_ = std::numeric_limits<std::int64_t>::max();
      highest_ = -1;
      for (const Run& run : runs_) add_run(run);
      report(first, count, totals, visit);
      ++totals.walked_tiles;
    }
    return totals;
  }

 private:
  /// Walked tokens of one tile in one row of the layout, and what they meet along the last axis:
  /// `cumulative[x]` pairs with streamed coordinate below low + x. The rows that they meet are the product of
  /// the leading axes' ranges.
  struct Run {
    PerAxis<Progression> rows;
    std::vector<std::int64_t> cumulative;
    std::int64_t low = 0, high = 0;  // streamed coordinates met lie in low .. high-1
  };

  void collect_runs(std::int64_t first, std::int64_t count) {
    runs_.clear();
    for (std::int64_t token = first; token < first + count;) {
      const std::int64_t x = token % row_;
      const std::int64_t length = std::min(row_ - x, first + count - token);
      runs_.push_back(make_run(token / row_, x, length));
      token += length;
    }
  }

  Run make_run(std::int64_t row, std::int64_t x, std::int64_t length) const {
    Run run;
    Extents coordinates(rank_ - 1, 0);
    for (std::size_t axis = rank_ - 1; axis-- > 0;) {
      coordinates[axis] = row % problem_.mask[axis].length;
      row /= problem_.mask[axis].length;
    }
    for (std::size_t axis = 0; axis + 1 < rank_; ++axis) {
      run.rows.push_back(met_[axis][static_cast<std::size_t>(coordinates[axis])]);
    }
    const std::vector<Progression>& met = met_[rank_ - 1];
    const std::int64_t dilation = problem_.mask[rank_ - 1].dilation;
    run.low = row_;
    for (std::int64_t i = x; i < x + length; ++i) {
      run.low = std::min(run.low, met[static_cast<std::size_t>(i)].begin);
      run.high = std::max(run.high, met[static_cast<std::size_t>(i)].end - dilation + 1);
    }
    // Marks where a progression starts and ends `dilation` apart, then sums along each residue class.
    const auto width = static_cast<std::size_t>(run.high - run.low),
               step = static_cast<std::size_t>(dilation);
    std::vector<std::int64_t> change(width + step, 0);
    for (std::int64_t i = x; i < x + length; ++i) {
      ++change[static_cast<std::size_t>(met[static_cast<std::size_t>(i)].begin - run.low)];
      --change[static_cast<std::size_t>(met[static_cast<std::size_t>(i)].end - run.low)];
    }
    for (std::size_t i = step; i < width; ++i) change[i] += change[i - step];
    change.resize(width);
    if (run.low < 0 || run.high > row_) change = within_row(change, run);
    run.cumulative.assign(change.size() + 1, 0);
    for (std::size_t i = 0; i < change.size(); ++i) run.cumulative[i + 1] = run.cumulative[i] + change[i];
    return run;
  }

  /// Pairs with each coordinate of the last axis, of those that go on past its ends.
  std::vector<std::int64_t> within_row(const std::vector<std::int64_t>& pairs, Run& run) const {
    std::vector<std::int64_t> inside(static_cast<std::size_t>(row_), 0);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      inside[static_cast<std::size_t>(turned(run.low + static_cast<std::int64_t>(i), row_))] += pairs[i];
    run.low = 0;
    run.high = row_;
    return inside;
  }
  static std::int64_t turned(std::int64_t coordinate, std::int64_t length) {
    const std::int64_t inside = coordinate % length;
    return inside < 0 ? inside + length : inside;
  }

  template <typename RowFunction>
  void for_each_row(const Run& run, RowFunction&& function) const {
    for_each_row_from(run, 0, 0, function);
  }
  template <typename RowFunction>
  void for_each_row_from(const Run& run, std::size_t axis, std::int64_t row, RowFunction&& function) const {
    if (axis + 1 == rank_) {
      function(row);
      return;
    }
    const Progression range = run.rows[axis];
    for (std::int64_t i = range.begin; i < range.end; i += problem_.mask[axis].dilation) {
      for_each_row_from(run, axis + 1, row * problem_.mask[axis].length + turned(i, problem_.mask[axis].length),
                        function);
    }
  }

  std::int64_t first_met() const {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const Run& run : runs_) {
      std::int64_t row = 0;  // the first row met is the product of the ranges' first coordinates
      for (std::size_t axis = 0; axis + 1 < rank_; ++axis)
        row = row * problem_.mask[axis].length + run.rows[axis].begin;
      first = std::min(first, row * row_ + run.low);
    }
    return first;
  }

  void add_run(const Run& run) {
    for_each_row(run, [&](std::int64_t row) {
      poll();
      const std::int64_t base = row * row_;
      for (std::int64_t x = run.low; x < run.high;) {
        const std::int64_t tile = (base + x - origin_) / streamed_;
        const std::int64_t next = std::min(origin_ + (tile + 1) * streamed_ - base, run.high);
        const std::int64_t pairs = run.cumulative[static_cast<std::size_t>(next - run.low)] -
                                   run.cumulative[static_cast<std::size_t>(x - run.low)];
        pairs_met_[static_cast<std::size_t>(tile)] += pairs;
        lowest_ = std::min(lowest_, tile);
        highest_ = std::max(highest_, tile);
        x = next;
      }
    });
  }

  void report(std::int64_t first, std::int64_t count, WalkTotals& totals, const TileVisitor& visit) {
    for (std::int64_t tile = lowest_; tile <= highest_; ++tile) {
      std::int64_t& pairs = pairs_met_[static_cast<std::size_t>(tile)];
      if (pairs == 0) continue;
      const std::int64_t begin = origin_ + tile * streamed_;
      const std::int64_t in_bounds = std::min(streamed_, tokens_ - begin);
      TileVisit tile_visit{
          .group = 0,
          .q_tile = first / walked_,
          .kv_tile = tile,
          .q_origin = {first},
          .kv_origin = {begin},
          .work = pairs == count * in_bounds ? TileWork::kFull : TileWork::kPartial};
      totals.attended_pairs = checked_add(totals.attended_pairs, pairs, "attended_pairs");
      pairs = 0;
      if (!forward_) {
        std::swap(tile_visit.q_tile, tile_visit.kv_tile);
        std::swap(tile_visit.q_origin, tile_visit.kv_origin);
      }
      visit(tile_visit);
    }
  }

  const TilingProblem& problem_;
  bool forward_;
  std::size_t rank_;
  PerAxis<std::vector<Progression>> met_;
  std::int64_t tokens_, row_, walked_, streamed_;
  std::int64_t origin_ = 0, lowest_ = 0, highest_ = 0;
  std::vector<Run> runs_;
  std::vector<std::int64_t> pairs_met_;  // by streamed tile, zero between walked tiles
};

}  // namespace

WalkTotals walk_runs(const TilingProblem& problem, const TileVisitor& visit) {
  return RunWalker(problem).walk(visit);
}

}  // namespace natten_sim
