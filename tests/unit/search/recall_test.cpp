// Recall of windows and the choice of a window for each head: against all pairs of tokens and all choices.
#include <algorithm>
#include <cmath>
#include <random>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/windows/recall.hpp>

#include "catch.hpp"

namespace recall_test {

using namespace natten_sim;

double share(std::mt19937& random) { return static_cast<double>(random() % 1000) / 1000; }

std::int64_t below(std::mt19937& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
}

/// Whether a query attends to a key: read off the rule, token by token.
bool attends(const AxisMask& axis, std::int64_t query, std::int64_t key) {
  if ((key - query) % axis.dilation != 0) return false;
  const AxisGroup group = residue_class(axis, query % axis.dilation);
  const TokenRange range = attended_range(group, query / axis.dilation);
  const std::int64_t at = key / axis.dilation;
  for (const std::int64_t turn : {-group.length, std::int64_t{0}, group.length}) {
    if (at + turn >= range.begin && at + turn < range.end && (turn == 0 || group.cyclic)) return true;
  }
  return false;
}

AxisMask random_axis(std::mt19937& random, std::int64_t longest) {
  AxisMask axis{.length = 1 + below(random, longest)};
  axis.dilation = below(random, 3) == 0 ? 1 + below(random, axis.length) : 1;
  const std::int64_t kind = below(random, 4);
  axis.causal = kind == 0;
  axis.cyclic = kind == 1 && axis.length % axis.dilation == 0;
  axis.window = 1 + below(random, axis.length / axis.dilation);
  axis.stride = 1 + below(random, axis.window);
  return axis;
}

/// Tokens and offsets in row-major order.
std::vector<std::int64_t> unravel(std::int64_t index, const Extents& sizes) {
  std::vector<std::int64_t> at(sizes.rank());
  for (std::size_t axis = sizes.rank(); axis-- > 0; index /= sizes[axis]) at[axis] = index % sizes[axis];
  return at;
}

std::int64_t volume(const Extents& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

/// The attention of each offset goes in equal parts to the pairs that have it; the kept pairs' parts, over
/// all.
double recall_of_pairs(const std::vector<double>& table, const NeighborhoodMask& mask) {
  const Extents layout = input_of(mask);
  Extents offsets;
  for (const std::int64_t length : layout) offsets.push_back(2 * length - 1);
  const std::int64_t tokens = volume(layout);
  std::vector<double> pairs(table.size()), kept(table.size());
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      const std::vector<std::int64_t> from = unravel(query, layout), to = unravel(key, layout);
      std::size_t at = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
        at = at * static_cast<std::size_t>(offsets[axis]) +
             static_cast<std::size_t>(to[axis] - from[axis] + layout[axis] - 1);
        inside = inside && attends(mask[axis], from[axis], to[axis]);
      }
      pairs[at] += 1;
      kept[at] += inside ? 1 : 0;
    }
  }
  double all = 0, some = 0;
  for (std::size_t at = 0; at < table.size(); ++at) {
    all += table[at];
    some += table[at] * kept[at] / pairs[at];
  }
  return some / all;
}

TEST_CASE("recall is the attention of the pairs that a mask keeps, of whole tables and of products") {
  std::mt19937 random(4141);
  for (int number = 0; number < 150; ++number) {
    const std::int64_t rank = 1 + below(random, 3);
    const std::int64_t longest[] = {24, 8, 4};
    Extents layout;
    std::vector<NeighborhoodMask> masks(3);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      for (NeighborhoodMask& mask : masks) {
        AxisMask drawn = random_axis(random, longest[rank - 1]);
        while (axis < static_cast<std::int64_t>(layout.rank()) &&
               drawn.length != layout[static_cast<std::size_t>(axis)])
          drawn = random_axis(random, longest[rank - 1]);
        if (axis == static_cast<std::int64_t>(layout.rank())) layout.push_back(drawn.length);
        mask.push_back(drawn);
      }
    }
    const MaskRecall recall(layout, masks);
    std::vector<double> table(recall.table_size()), factors(recall.product_size());
    for (double& mass : table) mass = share(random);
    for (double& mass : factors) mass = share(random) + 0.001;
    table.front() += 0.5;
    std::vector<double> product = {1.0};
    std::size_t begin = 0;
    for (const std::int64_t length : layout) {
      std::vector<double> next;
      for (const double before : product)
        for (std::int64_t at = 0; at < 2 * length - 1; ++at)
          next.push_back(before * factors[begin + static_cast<std::size_t>(at)]);
      begin += static_cast<std::size_t>(2 * length - 1);
      product = next;
    }
    CAPTURE(number, to_string(layout));
    const std::vector<double> found = recall.of_table(table), of_factors = recall.of_product(factors);
    for (std::size_t mask = 0; mask < masks.size(); ++mask) {
      CHECK(found[mask] == Approx(recall_of_pairs(table, masks[mask])));
      CHECK(of_factors[mask] == Approx(recall_of_pairs(product, masks[mask])));
    }
  }
}

TEST_CASE("attention that is alike everywhere is kept as pairs are, and attention to oneself always") {
  const std::vector<NeighborhoodMask> masks = {make_mask({5, 8}, {3, 4}), make_mask({5, 8}, {1, 1})};
  const MaskRecall recall({5, 8}, masks);
  std::vector<double> alike;  // of an offset as many pairs as have it
  for (int row = -4; row <= 4; ++row)
    for (int column = -7; column <= 7; ++column)
      alike.push_back((5 - std::abs(row)) * (8 - std::abs(column)));
  CHECK(recall.of_table(alike)[0] == Approx(12 / 40.0));
  CHECK(recall.of_table(alike)[1] == Approx(1 / 40.0));
  std::vector<double> own(alike.size(), 0.0);
  own[own.size() / 2] = 7;
  CHECK(recall.of_table(own) == std::vector<double>{1, 1});
  CHECK_THROWS_AS(MaskRecall({5, 9}, masks), InvalidParameter);
  CHECK_THROWS_AS(MaskRecall({5, 8}, {}), InvalidParameter);
}

/// The best of all choices of four heads and five candidates lies between the bound and the steps that suffice, which
/// are no further apart than the last step.
void check_bounds(const RecallTrade& trade, const std::vector<double>& recalls, const std::vector<double>& costs) {
  const std::vector<TradePoint>& points = trade.points();
  CHECK_FALSE(trade.least_cost(points.back().recall + 1).has_value());
  CHECK_FALSE(trade.most_recall(points.front().cost / 2).has_value());
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const double wish = points.back().recall * tenth / 10;
    const double budget = points.front().cost + (points.back().cost - points.front().cost) * tenth / 10;
    double least = 1e300, most = 0;
    for (int code = 0; code < 625; ++code) {
      double cost = 0, recall = 0;
      for (int unit = 0, rest = code; unit < 4; ++unit, rest /= 5) {
        cost += costs[static_cast<std::size_t>(rest % 5)];
        recall += recalls[static_cast<std::size_t>(unit * 5 + rest % 5)];
      }
      if (recall >= wish * (1 - 1e-12)) least = std::min(least, cost);
      if (cost <= budget * (1 + 1e-12)) most = std::max(most, recall);
    }
    const std::size_t steps = trade.steps_to(wish).value();
    const double bound = trade.least_cost(wish).value();
    CHECK(bound <= least * (1 + 1e-9));
    CHECK(least <= points[steps].cost * (1 + 1e-9));
    if (steps > 0) CHECK(points[steps].cost - bound <= (points[steps].cost - points[steps - 1].cost) * (1 + 1e-9));
    CHECK(trade.most_recall(budget).value() >= most * (1 - 1e-9));
    CHECK(points[trade.steps_within(budget).value()].recall <= most * (1 + 1e-9));
  }
}

TEST_CASE("no choice of a candidate for each head costs as little as one of the trade and keeps more") {
  std::mt19937 random(7);
  for (int number = 0; number < 60; ++number) {
    std::vector<double> recalls(4 * 5), costs(5);
    for (double& cost : costs) cost = 0.2 + share(random);
    for (double& recall : recalls) recall = share(random);
    const RecallTrade trade(recalls, costs);
    for (std::size_t steps = 0; steps < trade.points().size(); ++steps) {
      const TradePoint& point = trade.points()[steps];
      double cost = 0, recall = 0, best = 0;
      const std::vector<std::size_t> chosen = trade.chosen(steps);
      for (std::size_t unit = 0; unit < 4; ++unit) {
        cost += costs[chosen[unit]];
        recall += recalls[unit * 5 + chosen[unit]];
      }
      CHECK(cost == Approx(point.cost));
      CHECK(recall == Approx(point.recall));
      for (int code = 0; code < 625; ++code) {
        double other_cost = 0, other_recall = 0;
        for (int unit = 0, rest = code; unit < 4; ++unit, rest /= 5) {
          other_cost += costs[static_cast<std::size_t>(rest % 5)];
          other_recall += recalls[static_cast<std::size_t>(unit * 5 + rest % 5)];
        }
        if (other_cost <= cost * (1 + 1e-12)) best = std::max(best, other_recall);
      }
      CHECK(best == Approx(recall));
    }
    check_bounds(trade, recalls, costs);
    double most = 0;
    for (std::size_t unit = 0; unit < 4; ++unit)
      most += *std::max_element(recalls.begin() + static_cast<std::ptrdiff_t>(unit * 5),
                                recalls.begin() + static_cast<std::ptrdiff_t>(unit * 5 + 5));
    CHECK(trade.points().back().recall == Approx(most));
  }
}

}  // namespace recall_test
