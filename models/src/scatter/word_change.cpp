#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/scatter/word_change.hpp>

namespace natten_sim {
namespace {

/// P(|standard normal| > x).
double tail(double x) { return std::erfc(x / std::numbers::sqrt2); }

/// P(an addition changes a sum that is N(0, variance)).
double change_probability(int bits, double variance) {
  if (variance <= 0) return 1;
  const double deviation = std::sqrt(variance);
  const int top = static_cast<int>(std::ceil(std::log2(deviation))) + 4;
  double probability = 0, above = 0;  // `above`: P(|sum| >= 2^(e+1)), counted from the top binade down
  constexpr double kAlways = 1e-4;    // additions smaller than this are as good as none
  for (int e = top;; --e) {
    const double half_spacing = std::ldexp(1.0, e - bits);
    if (half_spacing < kAlways) break;
    const double from = tail(std::ldexp(1.0, e) / deviation);
    probability += (from - above) * tail(half_spacing);
    above = from;
  }
  return probability + (1 - above);
}

}  // namespace

double changing_share(Dtype type, UpdateValues values, std::int64_t prior_updates, std::int64_t updates) {
  if (prior_updates < 0) throw InvalidParameter("prior_updates", std::to_string(prior_updates), "0 or more");
  if (updates < 0) throw InvalidParameter("updates", std::to_string(updates), "0 or more");
  if (updates == 0) return 1;
  const int bits = significand_bits(type);
  const double first = static_cast<double>(prior_updates), count = static_cast<double>(updates);
  if (values == UpdateValues::kConstant) return std::clamp(std::ldexp(1.0, bits) - first, 0.0, count) / count;
  constexpr int kPoints = 32;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) sum += change_probability(bits, first + (i + 0.5) / kPoints * count);
  return sum / kPoints;
}

}  // namespace natten_sim
