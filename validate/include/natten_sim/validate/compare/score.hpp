#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace natten_sim::validate {

/// How a prediction is held against a measurement.
enum class ErrorKind {
  kFactor,      ///< by how much the larger of the ratio and its inverse exceeds 1
  kDifference,  ///< the plain difference: quantities that are shares already
  kChoice       ///< 0 where both name the same of several, else 1
};

/// How far `predicted` is off, 0 or more. By factors, twice and half as much are equally far off (1), and a
/// prediction of nothing is infinitely far off. What is no number is infinitely far off by any kind.
[[nodiscard]] double error_of(ErrorKind kind, double predicted, double measured);

/// How well a model does on a group of points whose misses are not excused one by one: predictions that were
/// frozen before their points were measured, or a model where it is known not to hold.
struct Score {
  std::size_t points = 0;
  double within = 0;  ///< share of the points within the tolerance, 0..1
  double median = 0;  ///< of the errors
  double p90 = 0;     ///< their 90th percentile, nearest rank
  double rank = 0;    ///< Spearman's correlation of predicted and measured, -1..1; 1 for a single point
  /// 1 - loss / baseline loss, where a loss is the mean error (of factors: the mean logarithm), and the
  /// baseline is the better of two that no model is needed for: the median of the other measurements (of
  /// choices: the most frequent), and the measurement of the point before. 0 or less: no skill. -infinity if
  /// a prediction is infinitely far off. Absent if the baseline is always right or there is one point.
  std::optional<double> skill = std::nullopt;
};

/// One pair of numbers that a score is made of.
struct ScoredPoint {
  double predicted = 0;
  double measured = 0;
  std::string_view key;  ///< neighbours with equal keys are one point, predicted by several models
};

/// Sums up points. A tolerance of t by factors means that the ratio lies in 1 / (1 + t) .. 1 + t. Equal values
/// share the mean of their ranks; the correlation is 0 where all predictions, or all measurements, are equal.
/// Infinite errors are within nothing and sort last. Requires at least one point. O(points log points).
[[nodiscard]] Score score_of(std::span<const ScoredPoint> points, ErrorKind kind, double tolerance);

/// Whether `reached` is nowhere worse than `stored`, to the digits that are stored (`kScoreDigits`).
[[nodiscard]] bool holds(const Score& reached, const Score& stored);

/// "0.93", "no skill" for 0 or less, "-" where it is absent.
[[nodiscard]] std::string skill_text(const Score& score);

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
