#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

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

/// What an error costs a mean: of factors its logarithm, so that twice and half as much cost the same.
double loss_of(ErrorKind kind, double error) { return kind == ErrorKind::kFactor ? std::log1p(error) : error; }

/// Positions of the points by what was measured, ascending.
std::vector<std::size_t> by_measurement(std::span<const ScoredPoint> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return points[a].measured < points[b].measured; });
  return order;
}

/// Mean loss of the median of the other measurements: by factors the geometric mean of the middle two.
double loss_of_median(std::span<const ScoredPoint> points, ErrorKind kind) {
  const std::vector<std::size_t> order = by_measurement(points);
  const std::size_t others = points.size() - 1;
  double sum = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto other = [&](std::size_t i) { return points[order[i + (i >= at ? 1 : 0)]].measured; };
    const double low = other((others - 1) / 2), high = other(others / 2);
    const double middle = kind == ErrorKind::kFactor ? std::sqrt(low * high) : (low + high) / 2;
    sum += loss_of(kind, error_of(kind, middle, points[order[at]].measured));
  }
  return sum / static_cast<double>(points.size());
}

/// Mean loss of the most frequent of the other measurements; ties go to the smaller.
double loss_of_mode(std::span<const ScoredPoint> points) {
  std::map<double, std::size_t> counts;
  for (const ScoredPoint& point : points) ++counts[point.measured];
  double wrong = 0;
  for (const ScoredPoint& point : points) {
    --counts[point.measured];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    wrong += most->first == point.measured ? 0 : 1;
    ++counts[point.measured];
  }
  return wrong / static_cast<double>(points.size());
}

/// Mean loss of the measurement of the point before; the first ones have the next.
double loss_of_neighbour(std::span<const ScoredPoint> points, ErrorKind kind) {
  const ScoredPoint* before = nullptr;
  double sum = 0;
  for (std::size_t first = 0; first < points.size();) {
    std::size_t end = first;
    while (end < points.size() && points[end].key == points[first].key) ++end;
    const ScoredPoint* const neighbour = before != nullptr      ? before
                                         : end < points.size() ? &points[end]
                                                               : nullptr;
    if (neighbour == nullptr) return std::numeric_limits<double>::infinity();
    before = &points[first];
    for (; first < end; ++first)
      sum += loss_of(kind, error_of(kind, neighbour->measured, points[first].measured));
  }
  return sum / static_cast<double>(points.size());
}

std::optional<double> skill_of(std::span<const ScoredPoint> points, ErrorKind kind, double loss) {
  if (points.size() < 2) return std::nullopt;
  const double constant = kind == ErrorKind::kChoice ? loss_of_mode(points) : loss_of_median(points, kind);
  const double baseline = std::min(constant, loss_of_neighbour(points, kind));
  if (!(baseline > 0) || !std::isfinite(baseline)) return std::nullopt;
  return 1 - loss / baseline;
}

}  // namespace

double error_of(ErrorKind kind, double predicted, double measured) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (predicted == measured) return 0;
  if (kind == ErrorKind::kChoice) return 1;
  if (std::isnan(predicted) || std::isnan(measured)) return kInfinity;
  if (kind == ErrorKind::kDifference) return std::abs(predicted - measured);
  if (!(predicted > 0) || !(measured > 0)) return kInfinity;
  return std::max(predicted / measured, measured / predicted) - 1;
}

Score score_of(std::span<const ScoredPoint> points, ErrorKind kind, double tolerance) {
  Score score;
  score.points = points.size();
  std::vector<double> errors, predicted, measured;
  double loss = 0;
  for (const ScoredPoint& point : points) {
    errors.push_back(error_of(kind, point.predicted, point.measured));
    loss += loss_of(kind, errors.back());
    // What is no number has a rank too: the lowest.
    predicted.push_back(std::isnan(point.predicted) ? -std::numeric_limits<double>::infinity()
                                                    : point.predicted);
    measured.push_back(point.measured);
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  const auto within = std::upper_bound(errors.begin(), errors.end(), tolerance) - errors.begin();
  score.within = static_cast<double>(within) / static_cast<double>(n);
  score.median = n % 2 == 1 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
  score.p90 = errors[(9 * n + 9) / 10 - 1];  // ceil(0.9 n)
  score.rank = rank_correlation(predicted, measured);
  score.skill = skill_of(points, kind, loss / static_cast<double>(n));
  return score;
}

bool holds(const Score& reached, const Score& stored) {
  const double slack = std::pow(10.0, -kScoreDigits) / 2 * (1 + 1e-9);  // of rounding
  return reached.within >= stored.within - slack && reached.median <= stored.median + slack &&
         reached.p90 <= stored.p90 + slack && reached.rank >= stored.rank - slack &&
         (!stored.skill || (reached.skill && *reached.skill >= *stored.skill - slack));
}

std::string skill_text(const Score& score) {
  if (!score.skill) return "-";
  if (!(*score.skill > 0)) return "no skill";
  return fmt::format("{:.2f}", *score.skill);
}

}  // namespace natten_sim::validate
