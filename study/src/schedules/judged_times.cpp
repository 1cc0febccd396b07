#include "schedules/judged_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
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

// In doublings of the length: another mask is as far as a length four times as long.
constexpr double kOtherMask = 2, kOtherOrder = 1, kOtherGroup = 2, kHeads = .5;

double doublings(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

double distance(const JudgedTime& one, const JudgedTime& other) {
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

bool same_mode(const JudgedTime& one, const JudgedTime& other) {
  return one.algorithm.empty() == other.algorithm.empty();
}

}  // namespace

std::optional<NearbyError> nearby_error(const std::vector<JudgedTime>& judged, const JudgedTime& call) {
  std::vector<JudgedError> errors;
  for (const JudgedTime& each : judged) {
    if (same_mode(each, call))
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

std::optional<NearbyError> left_out_error(const std::vector<JudgedTime>& left_out) {
  if (left_out.size() < kLeast) return std::nullopt;
  NearbyError error{.factor = 1, .points = static_cast<std::int64_t>(left_out.size())};
  for (const JudgedTime& each : left_out)
    error.factor = std::max(error.factor, std::exp(std::abs(std::log(each.measured_ms / each.predicted_ms))));
  return error;
}

bool has_mode(const std::vector<JudgedTime>& timed, const JudgedTime& call) {
  return std::any_of(timed.begin(), timed.end(), [&](const JudgedTime& each) { return same_mode(each, call); });
}

Outside outside_of(const std::vector<JudgedTime>& timed, const JudgedTime& call) {
  std::vector<JudgedTime> of_mode;
  std::copy_if(timed.begin(), timed.end(), std::back_inserter(of_mode),
               [&](const JudgedTime& each) { return same_mode(each, call); });
  Outside outside;
  const auto add = [&](const char* quantity, std::int64_t JudgedTime::*size, double each_doubling) {
    const auto [least, most] = std::minmax_element(
        of_mode.begin(), of_mode.end(), [&](const JudgedTime& a, const JudgedTime& b) { return a.*size < b.*size; });
    const std::int64_t value = call.*size, nearest = std::clamp(value, (*least).*size, (*most).*size);
    if (nearest == value) return;
    outside.doublings += each_doubling > 0 ? each_doubling * doublings(value, nearest) : kOtherGroup;
    outside.of.push_back({quantity, value, (*least).*size, (*most).*size});
  };
  add("tokens", &JudgedTime::tokens, 1);
  add("heads of all batches", &JudgedTime::heads, kHeads);
  add("heads per KV head", &JudgedTime::heads_per_kv_head, 0);
  const std::string mask = mask_family(call.mask);
  if (std::none_of(of_mode.begin(), of_mode.end(), [&](const JudgedTime& each) { return mask_family(each.mask) == mask; })) {
    outside.doublings += kOtherMask;
    outside.of.push_back({mask + " masks", {}, {}, {}});
  }
  return outside;
}

}  // namespace natten_sim::study
