#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/axis_job.hpp"
#include "windows/axis_memory.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

bool same_table(const SearchSpace& space, const AxisJob& a, const AxisJob& b) {
  const auto same_tiles = [](const AxisTiles& x, const AxisTiles& y) {
    return x.walked == y.walked && x.streamed == y.streamed;
  };
  return std::equal(a.tiles.begin(), a.tiles.end(), b.tiles.begin(), same_tiles) &&
         axis_in(space, a.axis, 1, 1) == axis_in(space, b.axis, 1, 1) && space.window[a.axis] == space.window[b.axis] &&
         space.stride[a.axis] == space.stride[b.axis];
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
  explicit TablePlan(const TableContext& context)
      : context_(context), memory_(context.run.memory ? context.run.memory : make_axis_memory()) {
    for (std::size_t index = 0; index < context.space.tiles.size(); ++index) add_choice(index);
    for (std::size_t index = 0; index < choices_.size(); ++index) restrict_to_sparsity(index);
    for (Choice& choice : choices_) find_useful(choice);
    if (!context.request.sketch) keep_pairs();
    for (AxisJob& job : jobs_) choose_windows(job);
    if (context.passes.size() == 2 || context.run.memory) share_counts();
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
  /// Bounds of the longest CTA hold for the shortest too: see shortest_within.
  struct Useful {
    UsefulCosts all, longest, shortest;
  };

  struct Choice {
    ChoiceTables tables;  // scale and base; no tables yet
    PerAxis<std::size_t> jobs;
    std::vector<AxisBounds> bounds;   // of each axis, under this choice
    std::vector<AxisBounds> longest;  // the same of the CTAs with most
    std::vector<AttendedBounds> attended;  // of each axis, with which the others can meet the question's
    std::optional<CostLimit> limit, longest_limit, shortest_limit;
    std::vector<Useful> useful;  // of each axis
  };

  void add_choice(std::size_t index) {
    const SearchSpace& space = context_.space;
    const TileChoice& tiles = space.tiles[index];
    if (context_.constraints.no_padding && !divides_evenly(space, tiles)) return;
    Choice choice;
    choice.tables.tile_choice = index;
    choice.tables.scale = cost_scale(space, context_.objective, tiles);
    choice.limit = limit_of(index, choice.tables.scale);
    if (!context_.request.longest_limits.empty()) {
      choice.longest_limit = context_.request.longest_limits[index];
      choice.shortest_limit = context_.request.shortest_limits[index];
    }
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
      AxisJob wanted{.axis = axis, .tiles = {}, .windows = {}, .users = {}};
      for (std::size_t pass = 0; pass < context_.passes.size(); ++pass) {
        const Walk walk = context_.passes[pass].walk;
        wanted.tiles[pass] = axis_tiles(tiles_of(tiles, walk), axis, walk);
      }
      choice.bounds.emplace_back(space, context_.constraints, context_.objective, axis, tiles);
      if (choice.bounds.back().empty()) return;
      choice.longest.emplace_back(space, context_.constraints, Objective::kWorst, axis, tiles);
      const auto same = std::find_if(jobs_.begin(), jobs_.end(),
                                     [&](const AxisJob& job) { return same_table(space, job, wanted); });
      choice.jobs.push_back(static_cast<std::size_t>(same - jobs_.begin()));
      if (same == jobs_.end()) jobs_.push_back(std::move(wanted));
    }
    for (std::size_t axis = 0; axis < choice.jobs.rank(); ++axis) add_user(index, axis, jobs_[choice.jobs[axis]]);
    choices_.push_back(std::move(choice));
  }

  /// The tile choice `index` of the space, which is the next of the plan.
  void add_user(std::size_t index, std::size_t axis, AxisJob& job) {
    const std::vector<PerPass<double>>& costs = context_.request.masked_costs;
    for (std::size_t pass = 0; !costs.empty() && pass < job.masked_cost.size(); ++pass) {
      const double own = costs[index][pass];
      job.masked_cost[pass] = job.users.empty() ? own : std::min(job.masked_cost[pass], own);
    }
    job.users.push_back({choices_.size(), axis});
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
      const auto lo = static_cast<std::int64_t>((context_.request.attended.lo + most - 1) / most);
      const auto hi = static_cast<std::int64_t>(context_.request.attended.hi / least);
      bounds[axis].restrict_to_attended(lo, hi);
      choices_[index].longest[axis].restrict_to_attended(lo, hi);
      choices_[index].attended.push_back({lo, hi});
    }
  }

  void find_useful(Choice& choice) {
    const std::size_t passes = context_.passes.size();
    const std::int64_t attended_lo = context_.request.attended.lo;
    for (std::size_t axis = 0; axis < choice.bounds.size(); ++axis) {
      choice.useful.push_back({UsefulCosts(choice.bounds, axis, passes, choice.limit, attended_lo),
                               UsefulCosts(choice.longest, axis, passes, choice.longest_limit, attended_lo),
                               UsefulCosts(choice.longest, axis, passes, choice.shortest_limit, attended_lo)});
    }
  }

  /// The window with the largest costs of an option that any tile choice with this job has use for; none: no option.
  [[nodiscard]] std::optional<WindowTask> task_of(const AxisJob& job, std::int64_t window) const {
    poll();  // asked for each of up to 2^32 windows
    const AxisJob::User& any = job.users.front();
    const WindowBounds all = choices_[any.choice].bounds[any.axis].of_window(window);
    const WindowBounds longest = choices_[any.choice].longest[any.axis].of_window(window);
    const auto is_none = [](const PerPass<long double>& costs) { return std::min(costs[0], costs[1]) < 0; };
    std::optional<WindowTask> task;
    for (const AxisJob::User& user : job.users) {
      const Choice& choice = choices_[user.choice];
      const AxisBounds& own = choice.bounds[user.axis];
      if (window < own.first_window() || window > own.last_window()) continue;
      const Useful& useful = choice.useful[user.axis];
      const UsefulCosts::Most most = useful.all.of(all);
      WindowTask of_user{window, most.costs, most.shares, useful.longest.of(longest).costs, useful.shortest.of(longest).costs,
                         choice.attended[user.axis]};
      if (job.pairs != nullptr && choice.limit) keep_within(of_user.largest_cost, own, of_user.attended.hi);
      if (is_none(of_user.largest_cost) || is_none(of_user.most_longest) || is_none(of_user.most_shortest)) continue;
      if (!task) task = of_user;
      task->attended = {std::min(task->attended.lo, of_user.attended.lo), std::max(task->attended.hi, of_user.attended.hi)};
      for (std::size_t pass = 0; pass < all.least_cost.size(); ++pass) {
        task->largest_cost[pass] = std::max(task->largest_cost[pass], of_user.largest_cost[pass]);
        task->cost_shares[pass] = std::min(task->cost_shares[pass], of_user.cost_shares[pass]);
        task->most_longest[pass] = std::max(task->most_longest[pass], of_user.most_longest[pass]);
        task->most_shortest[pass] = std::max(task->most_shortest[pass], of_user.most_shortest[pass]);
      }
    }
    return task;
  }

  /// What costs no more attends to no more than `most`, which only goes down.
  void keep_within(const PerPass<long double>& cost, const AxisBounds& bounds, std::int64_t& most) const {
    if (!counts_visits(context_.objective)) return;
    for (std::size_t pass = 0; pass < context_.passes.size(); ++pass)
      most = std::min(most, bounds.most_attended_within(cost[pass], pass));
  }

  /// Strides of a window that are worth counting.
  [[nodiscard]] std::int64_t options_of(const AxisJob& job, const WindowTask& task) const {
    const IntRange strides = context_.space.stride[job.axis];
    if (job.pairs != nullptr) {
      const std::span<const std::int32_t> pairs = job.pairs->of(task.window);
      return std::count_if(pairs.begin(), pairs.end(), [&](std::int64_t each) { return task.attended.contains(each); });
    }
    const std::int64_t count = std::min(strides.hi, task.window) - strides.lo + 1;
    return context_.request.sketch ? std::min(count, kSketchStrides) : count;
  }

  void choose_windows(AxisJob& job) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0, step = 1;
    for (const AxisJob::User& user : job.users) {
      const AxisBounds& bounds = choices_[user.choice].bounds[user.axis];
      if (bounds.empty()) continue;
      first = std::min(first, bounds.first_window()), last = std::max(last, bounds.last_window());
      step = bounds.window_step();
    }
    const auto add = [&](std::int64_t window) {
      const std::optional<WindowTask> task = task_of(job, window);
      const std::int64_t options = task ? options_of(job, *task) : 0;
      if (options == 0) return;
      job.windows.push_back(*task);
      job.options = checked_add(job.options, options, "evaluated");
    };
    // Beyond that nothing is tabulated: the windows that follow change nothing.
    const auto too_many = [&] { return job.options > kMaxOptions; };
    if (context_.request.sketch && last >= first && (last - first) / step >= kSketchWindows) {
      const std::int64_t tile =
          context_.passes[0].walk == Walk::kForward ? job.tiles[0].streamed : job.tiles[0].walked;
      for (const std::int64_t window : sketched_windows(first, last, step, tile)) add(window);
      return;
    }
    for (std::int64_t window = first; window <= last && !too_many(); window += step) add(window);
  }

  /// Of axes on which strides of a window attend to different numbers.
  void keep_pairs() {
    for (AxisJob& job : jobs_) {
      const AxisMask axis = axis_in(context_.space, job.axis, 1, 1);
      if (AttendedPairs::keeps(axis)) job.pairs = &memory_->pairs_of(axis, context_.space.stride[job.axis]);
    }
  }

  /// Of jobs that have a pass of the same tiles.
  void share_counts() {
    const bool alone = context_.space.input.rank() == 1;
    for (AxisJob& job : jobs_) {
      const AxisMask axis = axis_in(context_.space, job.axis, 1, 1);
      const std::int64_t longest = alone         ? AxisCounts::kLongestAlone
                                   : axis.causal ? AxisCounts::kLongestCausal
                                                 : AxisCounts::kLongest;
      for (std::size_t pass = 0; pass < job.tiles.size() && axis.length <= longest; ++pass) {
        const auto& [walk, kv_tiling, weight] = context_.passes[pass];
        job.counts[pass] = &memory_->counts_of(axis, job.tiles[pass], kv_tiling, walk);
      }
    }
  }

  TableContext context_;
  std::shared_ptr<AxisMemory> memory_;  // jobs point to its counts
  std::vector<AxisJob> jobs_;
  std::vector<Choice> choices_;
};

}  // namespace

std::shared_ptr<AxisMemory> make_axis_memory() { return std::make_shared<AxisMemory>(); }

SearchTables make_tables(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
                         const SearchRun& run, const TableRequest& request) {
  const TablePlan plan({space, constraints, objective, run, request, Passes(space)});
  if (plan.options() > kMaxOptions) {
    const std::string most = std::to_string(kMaxOptions);
    throw InvalidParameter("search space", "more than " + most + " (axis, window, stride, tile) options",
                           "fewer: narrow it with " + mention("window-range") + " or " + mention("stride-max"));
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
