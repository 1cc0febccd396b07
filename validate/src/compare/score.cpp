#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::validate {
namespace {

/// Ranks from 1 on; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double shared = static_cast<double>(first + end + 1) / 2;
    for (; first < end; ++first) ranks[order[first]] = shared;
  }
  return ranks;
}

/// Pearson's correlation of the ranks.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return 1;
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

}  // namespace

Score score_of(std::span<const ScoredPoint> points, double tolerance) {
  Score score;
  score.points = points.size();
  std::vector<double> errors, predicted, measured;
  for (const ScoredPoint& point : points) {
    const double error = std::abs(point.deviation);
    errors.push_back(std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    predicted.push_back(point.predicted);
    measured.push_back(point.measured);
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  const auto within = std::upper_bound(errors.begin(), errors.end(), tolerance) - errors.begin();
  score.within = static_cast<double>(within) / static_cast<double>(n);
  score.median = n % 2 == 1 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
  score.p90 = errors[(9 * n + 9) / 10 - 1];  // ceil(0.9 n)
  score.rank = rank_correlation(predicted, measured);
  return score;
}

bool holds(const Score& reached, const Score& stored) {
  const double slack = std::pow(10.0, -kScoreDigits) / 2 * (1 + 1e-9);  // of rounding
  return reached.within >= stored.within - slack && reached.median <= stored.median + slack &&
         reached.p90 <= stored.p90 + slack && reached.rank >= stored.rank - slack;
}

}  // namespace natten_sim::validate
