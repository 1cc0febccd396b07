#include "windows/axis_table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>

#include "windows/option_bounds.hpp"
#include "windows/parallel.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxOptions = 100'000'000;
constexpr std::int64_t kSketchWindows = 256;
constexpr std::int64_t kSketchStrides = 160;  // at most: the tiles' powers of two, the ends

/// A window worth counting, and the largest cost of an option of it that can be part of an answer.
struct WindowTask {
  std::int64_t window = 0;
  std::int64_t largest_cost = 0;
};

/// Axes that agree in all of this share a table; `axis` is the first of them.
struct AxisJob {
  std::size_t axis = 0;
  AxisTiles tiles;
  std::vector<WindowTask> windows;
  std::int64_t options = 0;
};

bool same_table(const SearchSpace& space, const AxisJob& a, const AxisJob& b) {
  return a.tiles.walked == b.tiles.walked && a.tiles.streamed == b.tiles.streamed &&
         space.input[a.axis] == space.input[b.axis] && space.dilation[a.axis] == space.dilation[b.axis] &&
         space.causal[a.axis] == space.causal[b.axis] && space.window[a.axis] == space.window[b.axis] &&
         space.stride[a.axis] == space.stride[b.axis];
}

std::int64_t axis_cost(const AxisCount& count, Objective objective) {
  switch (objective) {
    case Objective::kWork:
    case Objective::kMean:
      return count.visited_tiles;
    case Objective::kWorst:
      return count.max_tiles_per_walked_tile;
    case Objective::kFlop:
      return count.attended_pairs;
  }
  return count.visited_tiles;
}

/// Strides of one window: all, or for a sketch those that tiles divide, with the smallest and largest.
std::vector<std::int64_t> strides_of_window(const IntRange& range, const AxisTiles& tiles,
                                            std::int64_t window, bool sketch) {
  const std::int64_t last = std::min(range.hi, window);
  std::vector<std::int64_t> strides;
  if (!sketch || last - range.lo < 32) {
    for (std::int64_t stride = range.lo; stride <= last; ++stride) strides.push_back(stride);
    return strides;
  }
  strides = {range.lo, last};
  for (const std::int64_t tile : {tiles.walked, tiles.streamed}) {
    if (last >= tile) strides.push_back(last / tile * tile);
    for (std::int64_t stride = tile; stride <= last; stride *= 2) strides.push_back(stride);
  }
  std::erase_if(strides, [&](std::int64_t stride) { return stride < range.lo; });
  std::sort(strides.begin(), strides.end());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  return strides;
}

/// What the tables of one call have in common.
struct TableContext {
  const SearchSpace& space;
  const SearchConstraints& constraints;
  Objective objective;
  const SearchRun& run;
  const TableRequest& request;
};

/// Classes of one window; strides are appended to `table.strides`.
void append_window(const TableContext& context, const AxisJob& job, const WindowTask& task,
                   AxisTable& table) {
  struct Option {
    std::int64_t attended, cost, stride;
    bool slow;
  };
  const SearchSpace& space = context.space;
  const SearchConstraints& constraints = context.constraints;
  const bool wants_fast = constraints.natten_fast_path || context.run.tie_break == TieBreak::kFastPath;
  std::vector<Option> options;
  AxisMask mask{space.input[job.axis], task.window, 1, space.dilation[job.axis], space.causal[job.axis]};
  const TilePair tiles{{job.tiles.walked}, {job.tiles.streamed}};
  for (const std::int64_t stride :
       strides_of_window(space.stride[job.axis], job.tiles, task.window, context.request.sketch)) {
    mask.stride = stride;
    const bool fast = wants_fast && natten_fast_path({.mask = {mask}, .tiles = tiles});
    if (constraints.natten_fast_path && !fast) continue;
    if (constraints.fully_block_sparse && has_partial_tile_near_breaks(mask, job.tiles, space.kv_tiling))
      continue;
    const AxisCount count = count_axis(mask, job.tiles, space.kv_tiling);
    if (constraints.fully_block_sparse && count.full_tiles != count.visited_tiles) continue;
    const std::int64_t cost = axis_cost(count, context.objective);
    if (cost > task.largest_cost) continue;
    const bool ranks_fast = context.run.tie_break == TieBreak::kFastPath && fast;
    options.push_back({count.attended_pairs, cost, stride, !ranks_fast});
  }
  const auto key = [](const Option& option) { return std::tie(option.attended, option.cost, option.slow); };
  std::sort(options.begin(), options.end(), [&](const Option& a, const Option& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.stride < b.stride;
  });
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    if (i == 0 || key(option) != key(options[i - 1])) {
      table.classes.push_back(
          {task.window, option.attended, option.cost, !option.slow, table.strides.size(), 0});
    }
    ++table.classes.back().stride_count;
    table.strides.push_back(static_cast<std::uint32_t>(option.stride));
  }
}

AxisTable make_axis_table(const TableContext& context, const AxisJob& job, double from, double to) {
  std::vector<AxisTable> by_window(job.windows.size());
  run_tasks(job.windows.size(), context.run, from, to, [&](std::size_t index, std::size_t) {
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
    return std::tie(a.attended, a.window, a.cost, b.fast_path) <
           std::tie(b.attended, b.window, b.cost, a.fast_path);
  });
  return table;
}

bool divides_evenly(const SearchSpace& space, const TilePair& tiles) {
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    const std::int64_t dilation = space.dilation[axis];
    for (const std::int64_t length :
         {space.input[axis] / dilation, ceil_divide(space.input[axis], dilation)}) {
      if (length % tiles.q_tile[axis] != 0 || length % tiles.kv_tile[axis] != 0) return false;
    }
  }
  return true;
}

void set_cost_scale(const SearchSpace& space, Objective objective, ChoiceTables& choice) {
  const TilePair& tiles = space.tiles[choice.tile_choice].tiles;
  const std::int64_t tokens = product(space.input, "tokens");
  const std::int64_t dense_pairs = checked_multiply(tokens, tokens, "dense_pairs");
  std::int64_t dense_tiles = 1, q_tiles = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    const AxisMask mask{space.input[axis], 1, 1, space.dilation[axis], false};
    q_tiles *= count_axis(mask, {tiles.q_tile[axis], tiles.kv_tile[axis]}, KvTiling::kStatic).walked_tiles;
    dense_tiles =
        checked_multiply(dense_tiles, ceil_divide(space.input[axis], tiles.q_tile[axis]), "dense_tiles");
    dense_tiles =
        checked_multiply(dense_tiles, ceil_divide(space.input[axis], tiles.kv_tile[axis]), "dense_tiles");
  }
  switch (objective) {
    case Objective::kWork:
      choice.scale = checked_multiply(product(tiles.q_tile, "mma_pairs"), product(tiles.kv_tile, "mma_pairs"),
                                      "mma_pairs");
      choice.base = dense_pairs;
      break;
    case Objective::kMean:
      choice.base = dense_tiles;
      break;
    case Objective::kWorst:
      choice.scale = q_tiles;
      choice.base = dense_tiles;
      break;
    case Objective::kFlop:
      choice.base = dense_pairs;
      break;
  }
}

void require_costs_fit(const ChoiceTables& choice) {
  std::int64_t largest = choice.scale;
  for (const AxisTable* table : choice.axes) {
    std::int64_t cost = 0;
    for (const AxisClass& axis_class : table->classes) cost = std::max(cost, axis_class.cost);
    largest = checked_multiply(largest, cost, "mma_pairs");
  }
}

/// Windows of a sketch, ascending: the first and the last, multiples of the tile evenly and by powers of two.
std::vector<std::int64_t> sketched_windows(std::int64_t first, std::int64_t last, std::int64_t step,
                                           std::int64_t tile) {
  std::vector<std::int64_t> windows = {first, last};
  const std::int64_t unit = std::lcm(step, tile);
  for (std::int64_t window = unit; window <= last; window *= 2) windows.push_back(window);
  const std::int64_t stride = std::max<std::int64_t>(1, (last - first) / (kSketchWindows * unit)) * unit;
  for (std::int64_t window = ceil_divide(first, unit) * unit; window <= last; window += stride) {
    windows.push_back(window);
  }
  std::erase_if(windows, [&](std::int64_t window) { return window < first || window > last; });
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  return windows;
}

/// The axis jobs of a call, shared by tile choices, with the windows that are worth counting.
class TablePlan {
 public:
  explicit TablePlan(const TableContext& context) : context_(context) {
    for (std::size_t index = 0; index < context.space.tiles.size(); ++index) add_choice(index);
    for (std::size_t index = 0; index < choices_.size(); ++index) restrict_to_sparsity(index);
    for (AxisJob& job : jobs_) choose_windows(job);
  }

  [[nodiscard]] std::int64_t options() const {
    std::int64_t options = 0;
    for (const AxisJob& job : jobs_) options = checked_add(options, job.options, "evaluated");
    return options;
  }

  [[nodiscard]] SearchTables tabulate() const {
    SearchTables tables;
    tables.evaluated = options();
    tables.storage.reserve(jobs_.size());
    const TableRequest& request = context_.request;
    const double share =
        (request.to - request.from) / static_cast<double>(std::max<std::size_t>(jobs_.size(), 1));
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const double from = request.from + share * static_cast<double>(job);
      tables.storage.push_back(make_axis_table(context_, jobs_[job], from, from + share));
    }
    for (const Choice& planned : choices_) {
      ChoiceTables choice = planned.tables;
      bool feasible = true;
      for (const std::size_t job : planned.jobs) {
        choice.axes.push_back(&tables.storage[job]);
        feasible = feasible && !tables.storage[job].classes.empty();
      }
      if (!feasible) continue;
      require_costs_fit(choice);
      tables.choices.push_back(choice);
    }
    return tables;
  }

 private:
  struct Choice {
    ChoiceTables tables;  // scale and base; no tables yet
    PerAxis<std::size_t> jobs;
    std::vector<AxisBounds> bounds;  // of each axis, under this choice
    long double limit = -1;
  };

  void add_choice(std::size_t index) {
    const SearchSpace& space = context_.space;
    const TilePair& tiles = space.tiles[index].tiles;
    if (context_.constraints.no_padding && !divides_evenly(space, tiles)) return;
    Choice choice;
    choice.tables.tile_choice = index;
    set_cost_scale(space, context_.objective, choice.tables);
    if (context_.request.limit) {
      choice.limit = static_cast<long double>(context_.request.limit->numerator) /
                     static_cast<long double>(context_.request.limit->denominator) *
                     static_cast<long double>(choice.tables.base) /
                     static_cast<long double>(choice.tables.scale);
    }
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
      AxisJob wanted{.axis = axis, .tiles = {tiles.q_tile[axis], tiles.kv_tile[axis]}, .windows = {}};
      choice.bounds.emplace_back(space, context_.constraints, context_.objective, axis, wanted.tiles);
      if (choice.bounds.back().empty()) return;
      const auto same = std::find_if(jobs_.begin(), jobs_.end(),
                                     [&](const AxisJob& job) { return same_table(space, job, wanted); });
      choice.jobs.push_back(static_cast<std::size_t>(same - jobs_.begin()));
      if (same == jobs_.end()) jobs_.push_back(std::move(wanted));
    }
    choices_.push_back(std::move(choice));
  }

  /// Windows with which the other axes cannot bring the attended pairs inside the bounds are left out.
  void restrict_to_sparsity(std::size_t index) {
    std::vector<AxisBounds>& bounds = choices_[index].bounds;
    const std::vector<AxisBounds> before = bounds;
    for (std::size_t axis = 0; axis < bounds.size(); ++axis) {
      Int128 most = 1, least = 1;
      for (std::size_t other = 0; other < bounds.size(); ++other) {
        if (other == axis) continue;
        most *= before[other].most_attended(before[other].last_window());
        least *= before[other].least_attended(before[other].first_window());
      }
      bounds[axis].restrict_to_attended(
          static_cast<std::int64_t>((context_.request.attended.lo + most - 1) / most),
          static_cast<std::int64_t>(context_.request.attended.hi / least));
    }
  }

  /// Largest cost of an option of `window` that any tile choice with this job has use for; negative: none.
  [[nodiscard]] long double largest_cost(std::size_t job, std::int64_t window) const {
    long double largest = -1;
    for (const Choice& choice : choices_) {
      ChoiceBounds bounds{.axes = {}, .limit = choice.limit};
      for (const AxisBounds& axis : choice.bounds) bounds.axes.push_back(&axis);
      for (std::size_t axis = 0; axis < choice.jobs.rank(); ++axis) {
        const AxisBounds& own = choice.bounds[axis];
        if (choice.jobs[axis] != job || window < own.first_window() || window > own.last_window()) continue;
        const long double useful = largest_useful_cost(bounds, axis, window, context_.request.attended.lo);
        if (static_cast<long double>(own.least_cost(window)) <= useful) largest = std::max(largest, useful);
      }
    }
    return largest;
  }

  void choose_windows(AxisJob& job) {
    const auto index = static_cast<std::size_t>(&job - jobs_.data());
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0, step = 1;
    for (const Choice& choice : choices_) {
      for (std::size_t axis = 0; axis < choice.jobs.rank(); ++axis) {
        const AxisBounds& bounds = choice.bounds[axis];
        if (choice.jobs[axis] != index || bounds.empty()) continue;
        first = std::min(first, bounds.first_window());
        last = std::max(last, bounds.last_window());
        step = bounds.window_step();
      }
    }
    const IntRange strides = context_.space.stride[job.axis];
    const auto add = [&](std::int64_t window) {
      const long double useful = largest_cost(index, window);
      if (useful < 0) return;
      constexpr auto kAny = static_cast<long double>(std::numeric_limits<std::int64_t>::max() / 2);
      job.windows.push_back({window, useful >= kAny ? std::numeric_limits<std::int64_t>::max()
                                                    : static_cast<std::int64_t>(useful)});
      const std::int64_t count = std::min(strides.hi, window) - strides.lo + 1;
      job.options = checked_add(
          job.options, context_.request.sketch ? std::min(count, kSketchStrides) : count, "evaluated");
    };
    if (context_.request.sketch && last >= first && (last - first) / step >= kSketchWindows) {
      for (const std::int64_t window : sketched_windows(first, last, step, job.tiles.streamed)) add(window);
      return;
    }
    for (std::int64_t window = first; window <= last; window += step) add(window);
  }

  TableContext context_;
  std::vector<AxisJob> jobs_;
  std::vector<Choice> choices_;
};

}  // namespace

SearchTables make_tables(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
                         const SearchRun& run, const TableRequest& request) {
  const TablePlan plan({space, constraints, objective, run, request});
  if (plan.options() > kMaxOptions) {
    throw InvalidParameter(
        "search space", std::to_string(plan.options()) + " (axis, window, stride, tile) options",
        std::to_string(kMaxOptions) + " or fewer: narrow it with " + mention("window-range") + " or " +
            mention("stride-max"));
  }
  return plan.tabulate();
}

std::optional<SearchTables> make_tables_if_few(const SearchSpace& space, const SearchConstraints& constraints,
                                               Objective objective, const SearchRun& run,
                                               const TableRequest& request) {
  const TablePlan plan({space, constraints, objective, run, request});
  if (plan.options() > kMaxOptions) return std::nullopt;
  return plan.tabulate();
}

}  // namespace natten_sim
