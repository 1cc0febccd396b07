#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <natten_sim/core/mask.hpp>

namespace natten_sim {

/// How much of a head's attention windows keep, and which window each head should have.
///
/// A table has the attention at each offset, key minus query, from 1 - length to length - 1 on each axis. It
/// knows the offset alone: the queries that have a key there are taken to give it equal parts.
///
///     MaskRecall of(layout, masks);
///     std::vector<double> recalls = of.of_table(table);  // 0..1 for each mask
///     RecallTrade trade(recalls_of_all_heads, costs);
///     std::vector<std::size_t> chosen = trade.chosen(steps);  // that lead to the point of trade.points()
///     that suits

/// The share of the queries with a key at an offset that attend to it: 2 * length - 1 values. O(length *
/// window).
[[nodiscard]] std::vector<double> kept_by_offset(const AxisMask& axis);

/// Recalls of many masks of one layout. Each axis is summed once for each of its options, not once for each
/// mask.
class MaskRecall {
 public:
  /// @throws InvalidParameter for masks of another layout, or none.
  MaskRecall(const Extents& layout, std::span<const NeighborhoodMask> masks);

  /// Of a table in row-major order: 0..1 for each mask. O(table + table / last axis * options of it), since the queries
  /// with a key at an offset that attend to it are a function of the offset with few bends.
  [[nodiscard]] std::vector<double> of_table(std::span<const double> table) const;
  /// Of a table that is a product: the factors of the axes, one after the other.
  [[nodiscard]] std::vector<double> of_product(std::span<const double> factors) const;

  /// Values of a table, and of the factors of a product.
  [[nodiscard]] std::size_t table_size() const noexcept;
  [[nodiscard]] std::size_t product_size() const noexcept;

 private:
  /// Queries that attend to their key at an offset, under one option of an axis: those outside begin..end are none.
  struct Kept {
    AxisMask axis;
    std::vector<double> shares;  ///< of the queries with a key there
    std::size_t begin = 0, end = 0;
    std::vector<std::pair<std::size_t, double>> bends;  ///< second differences of their number; empty: too many

    [[nodiscard]] double sum(const double* masses) const noexcept;
    [[nodiscard]] double sum(const double* masses, const double* ramps) const noexcept;
  };

  [[nodiscard]] static Kept kept_by(const AxisMask& axis);

  std::vector<std::vector<Kept>> options_;    // one list per axis
  std::vector<std::vector<std::size_t>> at_;  // of each mask its option on each axis
};

/// What `steps` steps lead to: sums over units of the candidates' costs and recalls.
struct TradePoint {
  double cost = 0, recall = 0;
};

/// Units (heads, or layers) that each take one of the same candidates. From all units at their cheapest
/// candidate, each step gives one unit the next on the upper hull of its recall over cost, the steepest
/// first. So after any number of steps no other choice that costs as little has a larger sum of recalls
/// (Lagrange). O(units * n log n).
class RecallTrade {
 public:
  /// @param recalls of each unit those of all candidates @param costs of the candidates, positive
  RecallTrade(std::span<const double> recalls, std::span<const double> costs);

  [[nodiscard]] const std::vector<TradePoint>& points() const noexcept {
    return points_;
  }  ///< after 0, 1, .. steps
  /// No choice with this sum of recalls costs less: on the line between two points. None: no choice keeps as much.
  [[nodiscard]] std::optional<double> least_cost(double recall) const;
  /// No choice that costs as little keeps more. None: every choice costs more.
  [[nodiscard]] std::optional<double> most_recall(double cost) const;
  /// Steps to the first point with this sum of recalls; none: no point has it.
  [[nodiscard]] std::optional<std::size_t> steps_to(double recall) const;
  /// Steps to the last point that costs no more; none: every point costs more.
  [[nodiscard]] std::optional<std::size_t> steps_within(double cost) const;
  /// The candidate of each unit.
  [[nodiscard]] std::vector<std::size_t> chosen(std::size_t steps) const;
  /// All that units have after some number of steps. With higher costs of any others the trade is the same.
  [[nodiscard]] std::set<std::size_t> candidates() const;

 private:
  struct Step {
    double slope = 0;
    std::size_t unit = 0, candidate = 0;
    double cost = 0, recall = 0;
  };

  std::vector<std::size_t> first_;
  std::vector<Step> steps_;
  std::vector<TradePoint> points_;
};

}  // namespace natten_sim
