#include <algorithm>
#include <cmath>
#include <numeric>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/msda/msda.hpp>
#include <natten_sim/core/random_bits.hpp>

namespace natten_sim {
namespace {

constexpr int kCurveBits = 16;

std::uint32_t cell(double coordinate, std::uint32_t cells) {
  return static_cast<std::uint32_t>(std::clamp(coordinate * cells, 0.0, static_cast<double>(cells - 1)));
}

std::uint64_t morton_key(const MsdaPoint& point) {
  const std::uint32_t x = cell(point.x, 1u << kCurveBits), y = cell(point.y, 1u << kCurveBits);
  std::uint64_t key = 0;
  for (int bit = 0; bit < kCurveBits; ++bit)
    key |= static_cast<std::uint64_t>((x >> bit) & 1) << (2 * bit) |
           static_cast<std::uint64_t>((y >> bit) & 1) << (2 * bit + 1);
  return key;
}

/// Position along the Hilbert curve: quadrant by quadrant, with the rotation that the quadrant brings.
std::uint64_t hilbert_key(const MsdaPoint& point) {
  std::uint32_t x = cell(point.x, 1u << kCurveBits), y = cell(point.y, 1u << kCurveBits);
  std::uint64_t key = 0;
  for (std::uint32_t half = 1u << (kCurveBits - 1); half > 0; half >>= 1) {
    const std::uint32_t right = (x & half) != 0, lower = (y & half) != 0;
    key += static_cast<std::uint64_t>(half) * half * ((3 * right) ^ lower);
    x &= half - 1;
    y &= half - 1;
    if (lower == 0) {
      if (right == 1) {
        x = half - 1 - x;
        y = half - 1 - y;
      }
      std::swap(x, y);
    }
  }
  return key;
}

double squared_distance(const MsdaPoint& a, const MsdaPoint& b) {
  return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

std::vector<std::uint64_t> kmeans_keys(const std::vector<MsdaPoint>& points) {
  constexpr int kRounds = 8;
  const std::size_t clusters = std::clamp<std::size_t>(
      static_cast<std::size_t>(2 * std::sqrt(static_cast<double>(points.size()))), 1, points.size());
  std::vector<MsdaPoint> centres(clusters);
  for (std::size_t c = 0; c < clusters; ++c) centres[c] = points[c * points.size() / clusters];
  std::vector<std::uint64_t> nearest(points.size());
  for (int round = 0; round < kRounds; ++round) {
    std::vector<MsdaPoint> sums(clusters);
    std::vector<double> counts(clusters);
    for (std::size_t i = 0; i < points.size(); ++i) {
      poll();
      double best = 1e300;
      for (std::size_t c = 0; c < clusters; ++c) {
        const double distance = squared_distance(points[i], centres[c]);
        if (distance < best) {
          best = distance;
          nearest[i] = c;
        }
      }
      sums[nearest[i]].x += points[i].x;
      sums[nearest[i]].y += points[i].y;
      ++counts[nearest[i]];
    }
    for (std::size_t c = 0; c < clusters; ++c) {
      if (counts[c] > 0) centres[c] = {sums[c].x / counts[c], sums[c].y / counts[c]};
    }
  }
  return nearest;
}

std::uint64_t centroid_key(const MsdaPoint& point) {
  constexpr std::uint32_t kCells = 8;
  const std::uint32_t x = cell(point.x, kCells), y = cell(point.y, kCells);
  const double distance = squared_distance(point, {(x + 0.5) / kCells, (y + 0.5) / kCells});
  return static_cast<std::uint64_t>(y * kCells + x) << 32 | static_cast<std::uint64_t>(distance * 0x1.0p31);
}

std::vector<std::uint64_t> keys_of(QueryOrder order, const std::vector<MsdaPoint>& points,
                                   std::uint64_t seed) {
  if (order == QueryOrder::kKmeans) return kmeans_keys(points);
  std::vector<std::uint64_t> keys(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    poll();
    switch (order) {
      case QueryOrder::kMorton:
        keys[i] = morton_key(points[i]);
        break;
      case QueryOrder::kHilbert:
        keys[i] = hilbert_key(points[i]);
        break;
      case QueryOrder::kScanline:
        keys[i] = static_cast<std::uint64_t>(cell(points[i].y, 64)) << 32 | cell(points[i].x, 1u << 31);
        break;
      case QueryOrder::kRandom:
        keys[i] = random_bits(seed ^ 0x0DDE2ull, i);
        break;
      case QueryOrder::kCentroid:
        keys[i] = centroid_key(points[i]);
        break;
      case QueryOrder::kLinear:
      case QueryOrder::kKmeans:
        keys[i] = i;
        break;
    }
  }
  return keys;
}

}  // namespace

std::vector<std::int32_t> permutation(QueryOrder order, const std::vector<MsdaPoint>& points,
                                      std::uint64_t seed) {
  std::vector<std::int32_t> result(points.size());
  std::iota(result.begin(), result.end(), 0);
  if (order == QueryOrder::kLinear || points.empty()) return result;
  const std::vector<std::uint64_t> keys = keys_of(order, points, seed);
  std::stable_sort(result.begin(), result.end(), polled([&](std::int32_t a, std::int32_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  }));
  return result;
}

}  // namespace natten_sim
