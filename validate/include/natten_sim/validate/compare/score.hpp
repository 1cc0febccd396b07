#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace natten_sim::validate {

/// How well a model does on a group of points whose misses are not excused one by one: predictions that were
/// frozen before their points were measured, or a model where it is known not to hold.
struct Score {
  std::size_t points = 0;
  double within = 0;  ///< share of the points within the tolerance, 0..1
  double median = 0;  ///< of the absolute deviations
  double p90 = 0;     ///< their 90th percentile, nearest rank
  double rank = 0;    ///< Spearman's correlation of predicted and measured, -1..1; 1 for a single point
};

/// One pair of numbers that a score is made of.
struct ScoredPoint {
  double predicted = 0;
  double measured = 0;
  double deviation = 0;  ///< relative, or a difference for savings
};

/// Sums up points. Equal values share the mean of their ranks; the correlation is 0 where all predictions, or
/// all measurements, are equal. An infinite or NaN deviation is not within anything and sorts last. Requires
/// at least one point. O(points log points).
[[nodiscard]] Score score_of(std::span<const ScoredPoint> points, double tolerance);

/// Whether `reached` is nowhere worse than `stored`, to the digits that are stored (`kScoreDigits`).
[[nodiscard]] bool holds(const Score& reached, const Score& stored);

/// Stored scores are rounded to so many decimals.
inline constexpr int kScoreDigits = 4;

/// The score of the rows that one tolerance of a suite judges together, of all recordings of that suite.
struct ScoreResult {
  std::string suite;
  std::string counter;
  std::string model;  ///< part of the names of the models, as the suite has it
  std::string group;  ///< part of the names of the groups; empty: all
  double tolerance = 0;
  Score reached;
  Score stored;
  /// Fewer points than the stored score was made of are shown, not judged.
  [[nodiscard]] bool judged() const noexcept { return reached.points >= stored.points; }
  [[nodiscard]] bool held() const { return !judged() || holds(reached, stored); }
};

}  // namespace natten_sim::validate
