#include "windows/axis_table.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/axis_job.hpp"
#include "windows/run_part.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

/// Strides of one window: all, or for a sketch those that tiles divide, with the smallest and largest.
std::vector<std::int64_t> strides_of_window(const IntRange& range, const PerPass<AxisTiles>& passes,
                                            std::int64_t window, bool sketch) {
  const std::int64_t last = std::min(range.hi, window);
  std::vector<std::int64_t> strides;
  if (!sketch || last - range.lo < 32) {
    for (std::int64_t stride = range.lo; stride <= last; ++stride) strides.push_back(stride);
    return strides;
  }
  strides = {range.lo, last};
  for (const std::int64_t tile : {passes[0].walked, passes[0].streamed, passes[1].walked, passes[1].streamed}) {
    if (tile == 0) continue;  // no second pass
    if (last >= tile) strides.push_back(last / tile * tile);
    for (std::int64_t stride = tile; stride <= last; stride *= 2) strides.push_back(stride);
  }
  std::erase_if(strides, [&](std::int64_t stride) { return stride < range.lo; });
  std::sort(strides.begin(), strides.end());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  return strides;
}

struct AxisOption {
  std::int64_t attended = 0;
  PerPass<std::int64_t> cost{};
  std::int64_t stride = 0;
  bool slow = false;

  [[nodiscard]] auto key() const { return std::tie(attended, cost[0], cost[1], slow); }
};

/// Looks at options of a window, pass by pass: those of the strides that `mask` takes.
class OptionMaker {
 public:
  OptionMaker(const TableContext& context, const AxisJob& job, const AxisMask& mask, const WindowTask& task)
      : context_(context), job_(job), mask_(mask), breaks_ties_(context.run.tie_break == TieBreak::kFastPath) {
    for (std::size_t pass = 0; pass < limits_.size(); ++pass) {
      limits_[pass] = {rounded_up(task.largest_cost[pass]), rounded_up(task.most_longest[pass]),
                       rounded_up(task.most_shortest[pass]), static_cast<double>(task.cost_shares[pass])};
    }
  }

  /// None: a constraint excludes it, or its cost.
  std::optional<AxisOption> make() {
    looked_ = {};
    shares_ = 0;
    for (std::size_t index = 0; index < context_.passes.size(); ++index) {
      if (!look_at(index)) return std::nullopt;
    }
    if (shares_ > kMostShares) return std::nullopt;
    AxisOption option{.stride = mask_.stride};
    shares_ = 0;
    for (std::size_t index = 0; index < context_.passes.size(); ++index) {
      if (!count(index, option)) return std::nullopt;
    }
    if (shares_ > kMostShares) return std::nullopt;
    option.slow = option.slow || !breaks_ties_;
    return option;
  }

 private:
  struct Looked {
    const AxisCounts::Option* known = nullptr;
    bool fast = false;
    double times = 1;  ///< what a visit costs
  };

  struct Limits {
    double cost = 0, longest = 0, shortest = 0;
    double share = 0;  ///< WindowTask::cost_shares
  };

  static constexpr double kMostShares = 1 + 1e-9;  // covers the rounding of limits to doubles

  [[nodiscard]] static double rounded_up(long double limit) {
    return static_cast<double>(std::min<long double>(limit, std::numeric_limits<double>::max() / 2)) * kMostShares;
  }

  /// Without counting: false where the pass' bounds exclude the option.
  bool look_at(std::size_t index) {
    const auto& [walk, kv_tiling, weight] = context_.passes[index];
    const AxisTiles& tiles = job_.tiles[index];
    Looked& looked = looked_[index];
    const bool walks_q = walk == Walk::kForward;
    AxisCounts* const counts = job_.counts[index];  // of a long axis options are counted that may be part of an answer
    if (counts != nullptr && mask_.length <= AxisCounts::kLongest) looked.known = &counts->of(mask_);
    if (context_.constraints.natten_fast_path || breaks_ties_ || job_.masked_cost[index] > 1) {
      const TilePair pair{{walks_q ? tiles.walked : tiles.streamed}, {walks_q ? tiles.streamed : tiles.walked}};
      looked.fast = looked.known != nullptr ? looked.known->fast : natten_fast_path({.mask = {mask_}, .tiles = pair});
    }
    if (context_.constraints.natten_fast_path && !looked.fast) return false;
    if (!looked.fast && mask_.dilation == 1) looked.times = job_.masked_cost[index];
    if (!counts_visits(context_.objective) || (!walks_q && kv_tiling != KvTiling::kStatic)) return true;
    LeastVisited least;
    if (looked.known != nullptr) {
      least = {looked.known->visited, looked.known->longest, walks_q ? looked.known->shortest : 1};
    } else {
      least = walks_q ? least_visited(mask_, tiles) : least_visited_backward(mask_, tiles);
    }
    if (too_much(index, least.all, least.longest)) return false;
    return !walks_q || static_cast<double>(least.shortest) * looked.times <= limits_[index].shortest;
  }

  bool count(std::size_t index, AxisOption& option) {
    const SearchConstraints& constraints = context_.constraints;
    const auto& [walk, kv_tiling, weight] = context_.passes[index];
    const AxisTiles& tiles = job_.tiles[index];
    if (constraints.fully_block_sparse && walk == Walk::kForward &&
        has_partial_tile_near_breaks(mask_, tiles, kv_tiling))
      return false;
    const AxisCounts::Option* known = looked_[index].known;
    if (known == nullptr && job_.counts[index] != nullptr) known = &job_.counts[index]->of(mask_);
    const AxisCount count = known != nullptr ? known->count() : count_axis(mask_, tiles, kv_tiling, walk);
    if (constraints.fully_block_sparse && count.full_tiles != count.visited_tiles) return false;
    option.attended = count.attended_pairs;
    option.cost[index] = axis_cost(context_.space, mask_, tiles, walk, count, context_.objective);
    option.slow = option.slow || (breaks_ties_ && !looked_[index].fast);
    return !too_much(index, option.cost[index], count.max_tiles_per_walked_tile);
  }

  [[nodiscard]] bool too_much(std::size_t index, std::int64_t cost, std::int64_t longest) {
    const double times = looked_[index].times, all = static_cast<double>(cost) * times;
    shares_ += all * limits_[index].share;
    return all > limits_[index].cost || static_cast<double>(longest) * times > limits_[index].longest;
  }

  const TableContext& context_;
  const AxisJob& job_;
  const AxisMask& mask_;
  const bool breaks_ties_;
  PerPass<Limits> limits_ = {};
  PerPass<Looked> looked_ = {};
  double shares_ = 0;  ///< WindowTask::cost_shares, of what is known
};

/// Keeps of options in the order of their keys those that LeaveOut::kWorseStrides leaves.
void leave_out_worse(bool causal, bool sketch, std::size_t passes, std::vector<AxisOption>& options) {
  const auto last = std::unique(options.begin(), options.end(),
                                [](const AxisOption& a, const AxisOption& b) { return a.key() == b.key(); });
  options.erase(last, options.end());
  if (causal || options.empty()) return;  // attended pairs vary with the stride
  if (sketch) {                           // one a window, which the whole search surely has as well
    options.resize(1);
    return;
  }
  std::vector<AxisOption> kept;
  for (const AxisOption& option : options) {
    const bool worse = std::any_of(kept.begin(), kept.end(), [&](const AxisOption& other) {
      if (other.cost == option.cost) return false;  // they differ in `slow`
      return other.cost[0] <= option.cost[0] && (passes == 1 || other.cost[1] <= option.cost[1]);
    });
    if (!worse) kept.push_back(option);
  }
  options = std::move(kept);
}

/// Classes of one window; strides are appended to `table.strides`.
void append_window(const TableContext& context, const AxisJob& job, const WindowTask& task,
                   AxisTable& table) {
  const SearchSpace& space = context.space;
  const LeaveOut leave_out = context.request.leave_out;
  std::vector<AxisOption> options;
  AxisMask mask = axis_in(space, job.axis, task.window, 1);
  const bool covered = task.window * mask.dilation == mask.length;  // then strides change nothing
  const IntRange range = space.stride[job.axis];
  OptionMaker maker(context, job, mask, task);
  const std::span<const std::int32_t> pairs = job.pairs != nullptr ? job.pairs->of(task.window) : std::span<const std::int32_t>{};
  for (const std::int64_t stride :
       strides_of_window(range, job.tiles, task.window, context.request.sketch)) {
    poll();
    if (!pairs.empty() && !task.attended.contains(pairs[static_cast<std::size_t>(stride - range.lo)])) continue;
    mask.stride = stride;
    if (const auto option = maker.make()) options.push_back(*option);
    if (covered && leave_out != LeaveOut::kNothing) break;
  }
  std::sort(options.begin(), options.end(), [](const AxisOption& a, const AxisOption& b) {
    return std::tuple_cat(a.key(), std::tie(a.stride)) < std::tuple_cat(b.key(), std::tie(b.stride));
  });
  if (leave_out == LeaveOut::kWorseStrides)
    leave_out_worse(mask.causal, context.request.sketch, context.passes.size(), options);
  for (std::size_t i = 0; i < options.size(); ++i) {
    const AxisOption& option = options[i];
    if (i == 0 || option.key() != options[i - 1].key()) {
      table.classes.push_back(
          {task.window, option.attended, option.cost, !option.slow, table.strides.size(), 0});
    }
    ++table.classes.back().stride_count;
    table.strides.push_back(static_cast<std::uint32_t>(option.stride));
  }
}

}  // namespace

AxisTable make_axis_table(const TableContext& context, const AxisJob& job, double from, double to) {
  std::vector<AxisTable> by_window(job.windows.size());
  run_tasks(job.windows.size(), run_part(context.run, from, to), [&](std::size_t index, std::size_t) {
    append_window(context, job, job.windows[index], by_window[index]);
  });
  AxisTable table;
  for (AxisTable& part : by_window) {
    for (AxisClass axis_class : part.classes) {
      axis_class.first_stride += table.strides.size();
      table.classes.push_back(axis_class);
    }
    table.strides.insert(table.strides.end(), part.strides.begin(), part.strides.end());
    part = {};
  }
  std::sort(table.classes.begin(), table.classes.end(), [](const AxisClass& a, const AxisClass& b) {
    return std::tie(a.attended, a.window, a.cost[0], a.cost[1], b.fast_path) <
           std::tie(b.attended, b.window, b.cost[0], b.cost[1], a.fast_path);
  });
  return table;
}

}  // namespace natten_sim
