#include "windows/axis_table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/run_part.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kSketchWindows = 256;
constexpr std::int64_t kSketchStrides = 160;  // at most: the tiles' powers of two, the ends

/// A window worth counting, and the largest costs of an option of it that can be part of an answer.
struct WindowTask {
  std::int64_t window = 0;
  PerPass<std::int64_t> largest_cost = {0, 0};
};

/// Axes that agree in all of this share a table; `axis` is the first of them.
struct AxisJob {
  std::size_t axis = 0;
  PerPass<AxisTiles> tiles;
  std::vector<WindowTask> windows;
  std::int64_t options = 0;
  struct User {
    std::size_t choice = 0, axis = 0;
  };
  std::vector<User> users;  // tile choices with this table, and the axis it is for
};

bool same_table(const SearchSpace& space, const AxisJob& a, const AxisJob& b) {
  const auto same_tiles = [](const AxisTiles& x, const AxisTiles& y) {
    return x.walked == y.walked && x.streamed == y.streamed;
  };
  return std::equal(a.tiles.begin(), a.tiles.end(), b.tiles.begin(), same_tiles) &&
         axis_in(space, a.axis, 1, 1) == axis_in(space, b.axis, 1, 1) && space.window[a.axis] == space.window[b.axis] &&
         space.stride[a.axis] == space.stride[b.axis];
}

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

/// What the tables of one call have in common.
struct TableContext {
  const SearchSpace& space;
  const SearchConstraints& constraints;
  Objective objective;
  const SearchRun& run;
  const TableRequest& request;
  Passes passes;
};

struct AxisOption {
  std::int64_t attended = 0;
  PerPass<std::int64_t> cost{};
  std::int64_t stride = 0;
  bool slow = false;

  [[nodiscard]] auto key() const { return std::tie(attended, cost, slow); }
};

/// None: a constraint excludes it, or its cost.
std::optional<AxisOption> make_option(const TableContext& context, const AxisJob& job, const AxisMask& mask,
                                      const WindowTask& task) {
  const SearchConstraints& constraints = context.constraints;
  const bool breaks_ties = context.run.tie_break == TieBreak::kFastPath;
  AxisOption option{.stride = mask.stride};
  for (std::size_t index = 0; index < context.passes.size(); ++index) {
    const auto& [walk, kv_tiling, weight] = context.passes[index];
    const AxisTiles& tiles = job.tiles[index];
    if (walk == Walk::kForward && counts_visits(context.objective) &&
        least_visited(mask, tiles) > task.largest_cost[index])
      return std::nullopt;
    const auto is_fast = [&] {
      const bool walks_q = walk == Walk::kForward;
      const TilePair pair{{walks_q ? tiles.walked : tiles.streamed},
                          {walks_q ? tiles.streamed : tiles.walked}};
      return natten_fast_path({.mask = {mask}, .tiles = pair});
    };
    if (constraints.natten_fast_path && !is_fast()) return std::nullopt;
    if (constraints.fully_block_sparse && walk == Walk::kForward &&
        has_partial_tile_near_breaks(mask, tiles, kv_tiling))
      return std::nullopt;
    const AxisCount count = count_axis(mask, tiles, kv_tiling, walk);
    if (constraints.fully_block_sparse && count.full_tiles != count.visited_tiles) return std::nullopt;
    option.attended = count.attended_pairs;
    option.cost[index] = axis_cost(context.space, mask, tiles, walk, count, context.objective);
    if (option.cost[index] > task.largest_cost[index]) return std::nullopt;
    option.slow = option.slow || (breaks_ties && !is_fast());
  }
  option.slow = option.slow || !breaks_ties;
  return option;
}

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
  for (const std::int64_t stride :
       strides_of_window(space.stride[job.axis], job.tiles, task.window, context.request.sketch)) {
    poll();
    mask.stride = stride;
    if (const auto option = make_option(context, job, mask, task)) options.push_back(*option);
    if (covered && leave_out != LeaveOut::kNothing) break;
  }
  std::sort(options.begin(), options.end(), [&](const AxisOption& a, const AxisOption& b) {
    return a.key() != b.key() ? a.key() < b.key() : a.stride < b.stride;
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
    return std::tie(a.attended, a.window, a.cost, b.fast_path) <
           std::tie(b.attended, b.window, b.cost, a.fast_path);
  });
  return table;
}

void require_costs_fit(const ChoiceTables& choice) {
  PerPass<std::int64_t> largest = {1, 1};
  for (const AxisTable* table : choice.axes) {
    PerPass<std::int64_t> cost{};
    for (const AxisClass& axis_class : table->classes) {
      for (std::size_t pass = 0; pass < cost.size(); ++pass)
        cost[pass] = std::max(cost[pass], axis_class.cost[pass]);
    }
    for (std::size_t pass = 0; pass < cost.size(); ++pass)
      largest[pass] = checked_multiply(largest[pass], cost[pass], "mma_pairs");
  }
  choice.scale.require_fits(largest);
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
    std::optional<CostLimit> limit;
  };

  void add_choice(std::size_t index) {
    const SearchSpace& space = context_.space;
    const TileChoice& tiles = space.tiles[index];
    if (context_.constraints.no_padding && !divides_evenly(space, tiles)) return;
    Choice choice;
    choice.tables.tile_choice = index;
    choice.tables.scale = cost_scale(space, context_.objective, tiles);
    choice.limit = limit_of(index, choice.tables.scale);
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
      AxisJob wanted{.axis = axis, .tiles = {}, .windows = {}, .users = {}};
      for (std::size_t pass = 0; pass < context_.passes.size(); ++pass) {
        const Walk walk = context_.passes[pass].walk;
        wanted.tiles[pass] = axis_tiles(tiles_of(tiles, walk), axis, walk);
      }
      choice.bounds.emplace_back(space, context_.constraints, context_.objective, axis, tiles);
      if (choice.bounds.back().empty()) return;
      const auto same = std::find_if(jobs_.begin(), jobs_.end(),
                                     [&](const AxisJob& job) { return same_table(space, job, wanted); });
      choice.jobs.push_back(static_cast<std::size_t>(same - jobs_.begin()));
      if (same == jobs_.end()) jobs_.push_back(std::move(wanted));
    }
    for (std::size_t axis = 0; axis < choice.jobs.rank(); ++axis)
      jobs_[choice.jobs[axis]].users.push_back({choices_.size(), axis});
    choices_.push_back(std::move(choice));
  }

  [[nodiscard]] std::optional<CostLimit> limit_of(std::size_t index, const CostScale& scale) const {
    const TableRequest& request = context_.request;
    if (!request.choice_limits.empty()) return request.choice_limits[index];
    if (!request.limit) return std::nullopt;
    const auto real = [](std::int64_t value) { return static_cast<long double>(value); };
    const long double ratio = real(request.limit->numerator) / real(request.limit->denominator);
    return CostLimit{{real(scale.scale[0]), real(scale.scale[1])}, ratio * real(scale.base)};
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

  /// Largest costs of an option of `window` that any tile choice with this job has use for; negative: none.
  [[nodiscard]] PerPass<long double> largest_costs(const AxisJob& job, std::int64_t window) const {
    PerPass<long double> largest = {-1, -1};
    for (const AxisJob::User& user : job.users) {
      const Choice& choice = choices_[user.choice];
      const AxisBounds& own = choice.bounds[user.axis];
      if (window < own.first_window() || window > own.last_window()) continue;
      ChoiceBounds bounds{.axes = {}, .passes = context_.passes.size(), .limit = choice.limit};
      for (const AxisBounds& axis : choice.bounds) bounds.axes.push_back(&axis);
      const auto useful = largest_useful_costs(bounds, user.axis, window, context_.request.attended.lo);
      if (*std::min_element(useful.begin(), useful.end()) < 0) continue;
      for (std::size_t pass = 0; pass < useful.size(); ++pass)
        largest[pass] = std::max(largest[pass], useful[pass]);
    }
    return largest;
  }

  void choose_windows(AxisJob& job) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0, step = 1;
    for (const AxisJob::User& user : job.users) {
      const AxisBounds& bounds = choices_[user.choice].bounds[user.axis];
      if (bounds.empty()) continue;
      first = std::min(first, bounds.first_window()), last = std::max(last, bounds.last_window());
      step = bounds.window_step();
    }
    const IntRange strides = context_.space.stride[job.axis];
    const auto add = [&](std::int64_t window) {
      const PerPass<long double> useful = largest_costs(job, window);
      if (useful[0] < 0) return;
      const auto whole = [](long double cost) {
        constexpr auto kAny = static_cast<long double>(std::numeric_limits<std::int64_t>::max() / 2);
        return cost >= kAny ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(cost);
      };
      job.windows.push_back({window, {whole(useful[0]), whole(useful[1])}});
      const std::int64_t count = std::min(strides.hi, window) - strides.lo + 1;
      job.options =
          checked_add(job.options, context_.request.sketch ? std::min(count, kSketchStrides) : count, "evaluated");
    };
    if (context_.request.sketch && last >= first && (last - first) / step >= kSketchWindows) {
      const std::int64_t tile =
          context_.passes[0].walk == Walk::kForward ? job.tiles[0].streamed : job.tiles[0].walked;
      for (const std::int64_t window : sketched_windows(first, last, step, tile)) add(window);
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
  const TablePlan plan({space, constraints, objective, run, request, Passes(space)});
  if (plan.options() > kMaxOptions) {
    const std::string most = std::to_string(kMaxOptions) + " or fewer: narrow it with ";
    throw InvalidParameter("search space", std::to_string(plan.options()) + " (axis, window, stride, tile) options",
                           most + mention("window-range") + " or " + mention("stride-max"));
  }
  return plan.tabulate();
}

std::optional<SearchTables> make_tables_if_few(const SearchSpace& space, const SearchConstraints& constraints,
                                               Objective objective, const SearchRun& run,
                                               const TableRequest& request, std::int64_t most) {
  const TablePlan plan({space, constraints, objective, run, request, Passes(space)});
  return plan.options() > most ? std::nullopt : std::optional(plan.tabulate());
}

}  // namespace natten_sim
