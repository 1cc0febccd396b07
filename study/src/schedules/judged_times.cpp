#include "schedules/judged_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace natten_sim::study {
namespace {

constexpr std::size_t kNearest = 20;
constexpr std::size_t kLeast = 9;  // fewer have no quantile of 90%
constexpr double kLevel = .9;

struct JudgedError {
  double distance = 0;
  double size = 0;  ///< of the logarithm of measured over predicted
};

std::string mask_family(const std::string& mask) { return mask.substr(0, mask.find(':')); }

/// In doublings of the length. Another mask is as far as a length four times as long.
double distance(const JudgedTime& one, const JudgedTime& other) {
  constexpr double kOtherMask = 2, kOtherOrder = 1, kOtherGroup = 2, kHeads = .5;
  const auto doublings = [](std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
  };
  double sum = doublings(one.tokens, other.tokens) + kHeads * doublings(one.heads, other.heads);
  if (mask_family(one.mask) != mask_family(other.mask)) sum += kOtherMask;
  if (one.algorithm != other.algorithm) sum += kOtherOrder;
  if (one.heads_per_kv_head != other.heads_per_kv_head) sum += kOtherGroup;
  return sum;
}

std::optional<NearbyError> error_of_nearest(std::vector<JudgedError> errors) {
  if (errors.size() < kLeast) return std::nullopt;
  const auto by = [](auto member) {
    return [member](const JudgedError& one, const JudgedError& other) { return one.*member < other.*member; };
  };
  std::sort(errors.begin(), errors.end(), by(&JudgedError::distance));
  const JudgedError farthest = errors[std::min(kNearest, errors.size()) - 1];
  errors.erase(std::upper_bound(errors.begin(), errors.end(), farthest, by(&JudgedError::distance)), errors.end());
  std::sort(errors.begin(), errors.end(), by(&JudgedError::size));
  const auto count = static_cast<double>(errors.size());
  const auto rank = static_cast<std::size_t>(std::ceil(kLevel * (count + 1)));
  return NearbyError{std::exp(errors[rank - 1].size), static_cast<std::int64_t>(errors.size())};
}

bool same_call(const JudgedTime& one, const JudgedTime& other) {
  return one.mask == other.mask && one.tokens == other.tokens && one.heads == other.heads &&
         one.heads_per_kv_head == other.heads_per_kv_head;
}

}  // namespace

std::optional<NearbyError> nearby_error(const std::vector<JudgedTime>& judged, const JudgedTime& call) {
  std::vector<JudgedError> errors;
  for (const JudgedTime& each : judged) {
    if (each.algorithm.empty() == call.algorithm.empty())
      errors.push_back({distance(each, call), std::abs(std::log(each.measured_ms / each.predicted_ms))});
  }
  return error_of_nearest(std::move(errors));
}

std::optional<NearbyError> nearby_ratio_error(const std::vector<JudgedTime>& judged, const JudgedTime& ordered) {
  std::vector<JudgedError> errors;
  for (const JudgedTime& each : judged) {
    if (each.algorithm.empty()) continue;
    for (const JudgedTime& other : judged) {
      if (!other.algorithm.empty() || !same_call(each, other)) continue;
      const double measured = other.measured_ms / each.measured_ms;
      const double predicted = other.predicted_ms / each.predicted_ms;
      errors.push_back({distance(each, ordered), std::abs(std::log(measured / predicted))});
    }
  }
  return error_of_nearest(std::move(errors));
}

}  // namespace natten_sim::study
