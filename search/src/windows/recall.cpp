#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/windows/recall.hpp>

namespace natten_sim {
namespace {

std::size_t offsets_of(const AxisMask& axis) { return static_cast<std::size_t>(2 * axis.length - 1); }

constexpr double kSumRounding = 1e-12;  // of sums of recalls and costs
constexpr std::int64_t kLongestBent = 4096;  // on longer axes differences of ramps would be rounded too much

/// Queries with a key at the offset that stands at `at`.
double queries_at(std::size_t at, std::int64_t length) {
  return static_cast<double>(length - std::abs(static_cast<std::int64_t>(at) - (length - 1)));
}

/// Of each offset what a number of queries keeps that is 1 there and grows by 1 from each offset to the next. `of_query`:
/// what one query has of the mass at an offset.
void sum_ramps(const double* masses, std::span<const double> of_query, std::vector<double>& ramps) {
  double step = 0, ramp = 0;
  for (std::size_t at = of_query.size(); at-- > 0;) {
    step += masses[at] * of_query[at];
    ramp += step;
    ramps[at] = ramp;
  }
}

/// Candidates on the upper hull of recall over cost, from the cheapest to the one that keeps most. `order`: by cost.
std::vector<std::size_t> upper_hull(std::span<const double> recalls, std::span<const double> costs,
                                    std::span<const std::size_t> order) {
  std::vector<std::size_t> hull;
  for (const std::size_t next : order) {
    if (!hull.empty() && recalls[next] <= recalls[hull.back()]) continue;
    if (!hull.empty() && costs[next] == costs[hull.back()]) hull.pop_back();
    while (hull.size() > 1) {
      const std::size_t before = hull[hull.size() - 2], last = hull.back();
      const double rise = (recalls[last] - recalls[before]) * (costs[next] - costs[last]);
      if (rise > (recalls[next] - recalls[last]) * (costs[last] - costs[before])) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

/// Of each offset, from 1 - length on, the queries that attend there. O(length): a query's keys are one range of offsets,
/// or two around the end of a cycle.
std::vector<std::int64_t> queries_by_offset(const AxisGroup& group) {
  const std::int64_t length = group.length;
  std::vector<std::int64_t> queries(static_cast<std::size_t>(2 * length), 0);  // first differences
  for (std::int64_t query = 0; query < length; ++query) {
    const TokenRange range = attended_range(group, query);
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t turn = (begin < 0 ? (begin + 1) / length - 1 : begin / length) * length;
      const std::int64_t end = std::min(range.end, turn + length);
      ++queries[static_cast<std::size_t>(begin - turn - query + length - 1)];
      --queries[static_cast<std::size_t>(end - turn - query + length - 1)];
      begin = end;
    }
  }
  std::partial_sum(queries.begin(), queries.end(), queries.begin());
  return queries;
}

}  // namespace

std::vector<double> kept_by_offset(const AxisMask& axis) {
  require_valid(axis, 0);
  const std::int64_t length = axis.length;
  std::vector<double> shares(offsets_of(axis), 0.0);
  for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
    const AxisGroup group = residue_class(axis, residue);
    const std::vector<std::int64_t> queries = queries_by_offset(group);
    for (std::int64_t at = 0; at < 2 * group.length - 1; ++at) {
      const std::int64_t offset = (at - (group.length - 1)) * axis.dilation;
      shares[static_cast<std::size_t>(offset + length - 1)] += static_cast<double>(queries[static_cast<std::size_t>(at)]);
    }
  }
  for (std::int64_t at = 0; at < 2 * length - 1; ++at)
    shares[static_cast<std::size_t>(at)] /= static_cast<double>(length - std::abs(at - (length - 1)));
  return shares;
}

double MaskRecall::Kept::sum(const double* masses) const noexcept {
  double sums[4] = {0, 0, 0, 0};  // apart, so that one addition need not wait for the other
  std::size_t at = begin;
  for (; at + 4 <= end; at += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += shares[at + lane] * masses[at + lane];
  }
  for (; at < end; ++at) sums[0] += shares[at] * masses[at];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double MaskRecall::Kept::sum(const double* masses, const double* ramps) const noexcept {
  if (bends.empty()) return sum(masses);
  double all = 0;
  for (const auto& [at, bend] : bends) all += bend * ramps[at];
  return all;
}

MaskRecall::Kept MaskRecall::kept_by(const AxisMask& axis) {
  Kept kept{.axis = axis, .shares = kept_by_offset(axis)};
  const auto has = [](double share) { return share > 0; };
  kept.begin = static_cast<std::size_t>(std::find_if(kept.shares.begin(), kept.shares.end(), has) - kept.shares.begin());
  kept.end = static_cast<std::size_t>(kept.shares.rend() - std::find_if(kept.shares.rbegin(), kept.shares.rend(), has));
  if (axis.length > kLongestBent) return kept;
  double last = 0, before_last = 0;
  for (std::size_t at = 0; at < kept.shares.size(); ++at) {
    const double queries = std::round(kept.shares[at] * queries_at(at, axis.length));
    const double bend = queries - 2 * last + before_last;
    if (bend != 0) kept.bends.emplace_back(at, bend);
    before_last = std::exchange(last, queries);
  }
  if (2 * kept.bends.size() > kept.end - kept.begin) kept.bends.clear();
  return kept;
}

MaskRecall::MaskRecall(const Extents& layout, std::span<const NeighborhoodMask> masks)
    : options_(layout.rank()) {
  for (const NeighborhoodMask& mask : masks) {
    if (input_of(mask) != layout)
      throw InvalidParameter("input", to_string(input_of(mask)), "the table's layout " + to_string(layout));
    std::vector<std::size_t>& at = at_.emplace_back();
    for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
      std::vector<Kept>& options = options_[axis];
      auto found = std::find_if(options.begin(), options.end(),
                                [&](const Kept& each) { return each.axis == mask[axis]; });
      if (found == options.end()) {
        found = options.insert(options.end(), kept_by(mask[axis]));
      }
      at.push_back(static_cast<std::size_t>(found - options.begin()));
    }
  }
  if (masks.empty()) throw InvalidParameter("masks", "none", "one or more");
}

std::size_t MaskRecall::table_size() const noexcept {
  std::size_t size = 1;
  for (const std::vector<Kept>& options : options_) size *= options.front().shares.size();
  return size;
}

std::size_t MaskRecall::product_size() const noexcept {
  std::size_t size = 0;
  for (const std::vector<Kept>& options : options_) size += options.front().shares.size();
  return size;
}

std::vector<double> MaskRecall::of_table(std::span<const double> table) const {
  const double total = std::accumulate(table.begin(), table.end(), 0.0);
  // (options of the axes that are summed, the last first; offsets of the others)
  std::vector<double> sums(table.begin(), table.end());
  std::size_t blocks = 1;
  for (std::size_t axis = options_.size() - 1; axis > 0; --axis) {
    const std::vector<Kept>& options = options_[axis];
    const std::size_t size = options.front().shares.size(), rest = sums.size() / blocks / size;
    std::vector<double> next(blocks * options.size() * rest), ramps(size), of_query(size);
    for (std::size_t at = 0; at < size; ++at) of_query[at] = 1 / queries_at(at, options.front().axis.length);
    for (std::size_t row = 0; row < blocks * rest; ++row) {
      const double* masses = sums.data() + row * size;
      sum_ramps(masses, of_query, ramps);
      double* to = next.data() + row / rest * options.size() * rest + row % rest;
      for (std::size_t option = 0; option < options.size(); ++option)
        to[option * rest] = options[option].sum(masses, ramps.data());
    }
    blocks *= options.size();
    sums = std::move(next);
  }
  const std::size_t size = options_.front().front().shares.size();
  std::vector<double> recalls;
  for (const std::vector<std::size_t>& at : at_) {
    std::size_t block = 0;
    for (std::size_t axis = options_.size() - 1; axis > 0; --axis)
      block = block * options_[axis].size() + at[axis];
    recalls.push_back(options_.front()[at.front()].sum(sums.data() + block * size) / total);
  }
  return recalls;
}

std::vector<double> MaskRecall::of_product(std::span<const double> factors) const {
  std::vector<double> recalls(at_.size(), 1.0);
  const double* masses = factors.data();
  for (std::size_t axis = 0; axis < options_.size(); ++axis) {
    const std::size_t size = options_[axis].front().shares.size();
    const double total = std::accumulate(masses, masses + size, 0.0);
    std::vector<double> shares;
    for (const Kept& option : options_[axis]) shares.push_back(option.sum(masses) / total);
    for (std::size_t mask = 0; mask < at_.size(); ++mask) recalls[mask] *= shares[at_[mask][axis]];
    masses += size;
  }
  return recalls;
}

RecallTrade::RecallTrade(std::span<const double> recalls, std::span<const double> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  TradePoint now;
  for (std::size_t unit = 0; unit * costs.size() < recalls.size(); ++unit) {
    const std::span<const double> own = recalls.subspan(unit * costs.size(), costs.size());
    const std::vector<std::size_t> hull = upper_hull(own, costs, order);
    first_.push_back(hull.front());
    now.cost += costs[hull.front()];
    now.recall += own[hull.front()];
    for (std::size_t i = 1; i < hull.size(); ++i) {
      const double cost = costs[hull[i]] - costs[hull[i - 1]], rise = own[hull[i]] - own[hull[i - 1]];
      steps_.push_back({rise / cost, unit, hull[i], cost, rise});
    }
  }
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const Step& a, const Step& b) { return a.slope > b.slope; });
  points_.push_back(now);
  for (const Step& step : steps_) {
    now.cost += step.cost;
    now.recall += step.recall;
    points_.push_back(now);
  }
}

std::optional<std::size_t> RecallTrade::steps_to(double recall) const {
  const auto enough = std::find_if(points_.begin(), points_.end(),
                                   [&](const TradePoint& point) { return point.recall >= recall * (1 - kSumRounding); });
  if (enough == points_.end()) return std::nullopt;
  return static_cast<std::size_t>(enough - points_.begin());
}

std::optional<std::size_t> RecallTrade::steps_within(double cost) const {
  const auto beyond = std::find_if(points_.begin(), points_.end(),
                                   [&](const TradePoint& point) { return point.cost > cost * (1 + kSumRounding); });
  if (beyond == points_.begin()) return std::nullopt;
  return static_cast<std::size_t>(beyond - points_.begin()) - 1;
}

std::optional<double> RecallTrade::least_cost(double recall) const {
  const std::optional<std::size_t> steps = steps_to(recall);
  if (!steps || *steps == 0) return steps ? std::optional(points_.front().cost) : std::nullopt;
  const TradePoint &before = points_[*steps - 1], &enough = points_[*steps];
  const double part = std::min(1.0, (recall - before.recall) / (enough.recall - before.recall));
  return before.cost + part * (enough.cost - before.cost);
}

std::optional<double> RecallTrade::most_recall(double cost) const {
  const std::optional<std::size_t> steps = steps_within(cost);
  if (!steps) return std::nullopt;
  const TradePoint& within = points_[*steps];
  if (*steps + 1 == points_.size()) return within.recall;
  const TradePoint& beyond = points_[*steps + 1];
  const double part = std::max(0.0, (cost - within.cost) / (beyond.cost - within.cost));
  return within.recall + part * (beyond.recall - within.recall);
}

std::vector<std::size_t> RecallTrade::chosen(std::size_t steps) const {
  std::vector<std::size_t> chosen = first_;
  for (std::size_t i = 0; i < steps; ++i) chosen[steps_[i].unit] = steps_[i].candidate;
  return chosen;
}

std::set<std::size_t> RecallTrade::candidates() const {
  std::set<std::size_t> candidates(first_.begin(), first_.end());
  for (const Step& step : steps_) candidates.insert(step.candidate);
  return candidates;
}

}  // namespace natten_sim
