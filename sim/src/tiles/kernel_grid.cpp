#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

namespace natten_sim {
namespace {

struct AxisTile {
  std::int64_t walked = 0, streamed = 0;
};

/// The window of the last token serves Q tiles behind the end; a KV tile there sees the queries from the
/// first that could have a window behind the end.
std::int64_t visits_of_empty(const AxisGroup& group, std::int64_t streamed, Walk pass) {
  std::int64_t begin = group.length;
  if (pass == Walk::kForward) {
    begin = group.length - group.window;
  } else if (!group.causal) {
    const std::int64_t right = group.window / 2 + group.window % 2 - 1;
    begin = (group.length - right + (group.stride + 1) / 2 - 1) / group.stride * group.stride;
  }
  return ceil_divide(group.length, streamed) - begin / streamed;
}

CtaVisits visits_of_q_tile(const AxisGroup& group, std::int64_t first, std::int64_t end, std::int64_t tile) {
  const TokenRange at_first = attended_range(group, first), at_last = attended_range(group, end - 1);
  CtaVisits visits;
  visits.tiles = ceil_divide(at_last.end, tile) - at_first.begin / tile;
  // Tiles that lie within the windows of all queries: begin and end never decrease.
  visits.full = std::max<std::int64_t>(0, at_first.end / tile - ceil_divide(at_last.begin, tile));
  return visits;
}

/// `first_query[k]`: the first query that sees key k or a later one; `end_query[k]`: behind the last that
/// sees key k or an earlier one.
struct Viewers {
  std::vector<std::int64_t> first_query, end_query;
};

Viewers viewers_of(const AxisGroup& group) {
  Viewers viewers;
  const auto length = static_cast<std::size_t>(group.length);
  viewers.first_query.assign(length, group.length);
  viewers.end_query.assign(length, 0);
  std::int64_t behind = 0;  // keys before it have their first query
  for (std::int64_t query = 0; query < group.length; ++query) {
    poll();
    const TokenRange range = attended_range(group, query);
    for (; behind < range.end; ++behind) viewers.first_query[static_cast<std::size_t>(behind)] = query;
    viewers.end_query[static_cast<std::size_t>(range.begin)] = query + 1;
  }
  for (std::size_t key = 1; key < length; ++key)
    viewers.end_query[key] = std::max(viewers.end_query[key], viewers.end_query[key - 1]);
  return viewers;
}

CtaVisits visits_of_kv_tile(const AxisGroup& group, const Viewers& viewers, std::int64_t first,
                            std::int64_t end, std::int64_t tile) {
  const std::int64_t begin_query = viewers.first_query[static_cast<std::size_t>(first)];
  const std::int64_t end_query = viewers.end_query[static_cast<std::size_t>(end - 1)];
  CtaVisits visits;
  if (end_query <= begin_query) return visits;
  visits.tiles = (end_query - 1) / tile - begin_query / tile + 1;
  // Full: Q tiles whose queries all see the first and the last key.
  const std::int64_t first_of_all = viewers.first_query[static_cast<std::size_t>(end - 1)];
  const std::int64_t end_of_all = viewers.end_query[static_cast<std::size_t>(first)];
  const std::int64_t end_tile =
      end_of_all == group.length ? ceil_divide(end_of_all, tile) : end_of_all / tile;
  visits.full = std::max<std::int64_t>(0, end_tile - ceil_divide(first_of_all, tile));
  return visits;
}

/// Around a cycle, by the tiles that a walk visits.
std::vector<CtaVisits> along_cycle(const AxisGroup& group, const AxisTile& tile, Walk pass) {
  const bool forward = pass == Walk::kForward;
  const TilingProblem problem{
      .mask = {{group.length, group.window, group.stride, 1, group.causal, group.cyclic}},
      .tiles = {{forward ? tile.walked : tile.streamed}, {forward ? tile.streamed : tile.walked}},
      .walk = pass};
  std::vector<CtaVisits> ctas(static_cast<std::size_t>(ceil_divide(group.length, tile.walked)));
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    CtaVisits& cta = ctas[static_cast<std::size_t>(forward ? visit.q_tile : visit.kv_tile)];
    ++cta.tiles;
    const bool padded = visit.kv_origin[0] + problem.tiles.kv_tile[0] > group.length;
    if (visit.work == TileWork::kFull && !padded) ++cta.full;
  });
  return ctas;
}

/// CTAs along one axis of one group.
std::vector<CtaVisits> along_axis(const AxisMask& axis, std::int64_t residue, const AxisTile& tile,
                                  NattenBackend backend, Walk pass) {
  const bool flex = backend == NattenBackend::kFlexFna;
  const AxisGroup group = residue_class(axis, flex ? 0 : residue);
  if (group.cyclic) return along_cycle(group, tile, pass);
  const std::int64_t tiles = ceil_divide(group.length, tile.walked);
  const std::int64_t launched =
      flex ? tiles : ceil_divide(ceil_divide(axis.length, tile.walked), axis.dilation);
  const Viewers viewers = pass == Walk::kBackward ? viewers_of(group) : Viewers{};
  std::vector<CtaVisits> ctas;
  ctas.reserve(static_cast<std::size_t>(launched));
  for (std::int64_t index = 0; index < launched; ++index) {
    poll();
    const std::int64_t first = index * tile.walked, end = std::min(first + tile.walked, group.length);
    if (first >= group.length) {
      ctas.push_back({visits_of_empty(group, tile.streamed, pass), 0});
    } else if (pass == Walk::kForward) {
      ctas.push_back(visits_of_q_tile(group, first, end, tile.streamed));
    } else {
      ctas.push_back(visits_of_kv_tile(group, viewers, first, end, tile.streamed));
      if (end - first < tile.walked) ctas.back().full = 0;  // padded keys do not attend
    }
  }
  return ctas;
}

AxisTile axis_tile(const TilePair& tiles, std::size_t axis, Walk pass) {
  return pass == Walk::kForward ? AxisTile{tiles.q_tile[axis], tiles.kv_tile[axis]}
                                : AxisTile{tiles.kv_tile[axis], tiles.q_tile[axis]};
}

/// When workers become free, sorted by slices of time. CTAs start in the order of their launch, so the slices
/// are emptied one after the other; a slice is no longer than the shortest CTA where the longest is not
/// thousands of times as long, so it is sorted once, when its turn comes, and nothing is added to it then.
class FreeTimes {
 public:
  FreeTimes(double shortest, double longest) {
    constexpr double kMostSlices = 4096;
    width_ = std::max({shortest, longest / kMostSlices, std::numeric_limits<double>::min()});
    slices_.resize(static_cast<std::size_t>(longest / width_) + 3);
  }
  /// Not before the last one that was taken.
  void add(double time) {
    std::vector<double>& slice = slices_[index_of(time) % slices_.size()];
    if (&slice != &current()) {
      slice.push_back(time);
    } else {
      slice.insert(std::upper_bound(slice.begin() + static_cast<std::ptrdiff_t>(taken_), slice.end(), time),
                   time);
    }
  }
  /// The earliest. There is one.
  double take() {
    while (taken_ == current().size()) {
      current().clear();
      taken_ = 0;
      ++turn_;
      std::sort(current().begin(), current().end());
    }
    return current()[taken_++];
  }

 private:
  [[nodiscard]] std::size_t index_of(double time) const {
    return std::max(turn_, static_cast<std::size_t>(time / width_));
  }
  [[nodiscard]] std::vector<double>& current() { return slices_[turn_ % slices_.size()]; }

  double width_ = 0;
  std::vector<std::vector<double>> slices_;  ///< those from `turn_` on, in a ring
  std::size_t turn_ = 0;                     ///< the slice that is being emptied
  std::size_t taken_ = 0;                    ///< how much of it is
};

/// Whoever is free takes the next one.
std::vector<double> listed_makespans(std::span<const double> costs, std::int64_t repeats, std::int64_t workers) {
  const auto [shortest, longest] = std::minmax_element(costs.begin(), costs.end());
  FreeTimes free(*shortest, *longest);
  std::vector<double> makespans;
  double makespan = 0;
  std::int64_t idle = workers;  // from the beginning
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    poll();
    for (const double cost : costs) {
      const double end = (idle > 0 ? 0 : free.take()) + cost;
      idle = std::max<std::int64_t>(0, idle - 1);
      free.add(end);
      makespan = std::max(makespan, end);
    }
    makespans.push_back(makespan);
  }
  return makespans;
}

/// Worker w takes w, w + workers, ...
std::vector<double> persistent_makespans(std::span<const double> costs, std::int64_t repeats, std::int64_t workers) {
  const auto ctas = static_cast<std::int64_t>(costs.size()) * repeats;
  std::vector<double> ends(static_cast<std::size_t>(std::min(workers, ctas)), 0.0), makespans;
  double makespan = 0;
  std::size_t worker = 0;
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    poll();
    for (const double cost : costs) {
      ends[worker] += cost;
      makespan = std::max(makespan, ends[worker]);
      worker = worker + 1 == ends.size() ? 0 : worker + 1;
    }
    makespans.push_back(makespan);
  }
  return makespans;
}

}  // namespace

std::vector<CtaVisits> list_ctas(const NeighborhoodMask& mask, const TilePair& tiles, NattenBackend backend,
                                 Walk pass) {
  require_valid(TilingProblem{.mask = mask, .tiles = tiles});
  if (backend != NattenBackend::kFlexFna)
    require_no_cycle(mask, "false: windows of NATTEN's kernels end at the borders");
  if (backend == NattenBackend::kCutlassFna)
    throw InvalidParameter("backend", "cutlass-fna", "a backend whose tiles lie on a grid");
  PerAxis<std::vector<std::vector<CtaVisits>>> axes;  // [axis][residue][tile]
  std::int64_t groups = 1, most = 1;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    std::vector<std::vector<CtaVisits>> residues;
    if (mask[axis].length > kMostCtas)
      throw InvalidParameter("input", to_string(input_of(mask)), "fewer tokens");
    for (std::int64_t residue = 0; residue < mask[axis].dilation; ++residue)
      residues.push_back(along_axis(mask[axis], residue, axis_tile(tiles, axis, pass), backend, pass));
    groups = checked_multiply(groups, mask[axis].dilation, "ctas");
    most = checked_multiply(most, static_cast<std::int64_t>(residues.front().size()), "ctas");
    axes.push_back(std::move(residues));
  }
  if (checked_multiply(groups, most, "ctas") > kMostCtas)
    throw InvalidParameter("input", to_string(input_of(mask)), "at most 4194304 CTAs a head");
  std::vector<CtaVisits> all, boxes, next;
  all.reserve(static_cast<std::size_t>(groups * most));
  for (std::int64_t group = 0; group < groups; ++group) {
    poll();
    boxes.assign(1, {1, 1});
    std::int64_t rest = group, below = groups;
    for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
      below /= mask[axis].dilation;
      const std::vector<CtaVisits>& line = axes[axis][static_cast<std::size_t>(rest / below)];
      rest %= below;
      const bool innermost = axis + 1 == mask.rank();
      if (!innermost) next.clear();
      std::vector<CtaVisits>& product = innermost ? all : next;
      for (const CtaVisits& box : boxes) {
        poll();
        for (const CtaVisits& tile : line) product.push_back({box.tiles * tile.tiles, box.full * tile.full});
      }
      if (!innermost) boxes.swap(next);
    }
  }
  return all;
}

std::vector<double> grid_makespans(std::span<const double> costs, std::int64_t repeats, std::int64_t workers,
                                   CtaSchedule schedule) {
  if (costs.empty() || repeats < 1) throw InvalidParameter("ctas", "0", "1 or more");
  if (workers < 1) throw InvalidParameter("workers", std::to_string(workers), "1 or more");
  if (schedule == CtaSchedule::kTile) throw InvalidParameter("schedule", "tile", "grid, persistent");
  (void)checked_multiply(static_cast<std::int64_t>(costs.size()), repeats, "ctas");
  return schedule == CtaSchedule::kPersistent ? persistent_makespans(costs, repeats, workers)
                                              : listed_makespans(costs, repeats, workers);
}

GridRun run_grid(std::span<const double> costs, std::int64_t repeats, std::int64_t workers,
                 CtaSchedule schedule) {
  GridRun run;
  run.makespan = grid_makespans(costs, repeats, workers, schedule).back();
  run.ctas = static_cast<std::int64_t>(costs.size()) * repeats;
  run.busy = std::accumulate(costs.begin(), costs.end(), 0.0) * static_cast<double>(repeats) /
             static_cast<double>(workers);
  return run;
}

}  // namespace natten_sim
