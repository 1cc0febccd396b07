#include "natten_accepted.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace natten_sim {
namespace {

/// `8 to 256, multiples of 8; 512`: what a step leads through, then the rest.
std::string described(const std::vector<std::int64_t>& values) {
  std::size_t end = 1;
  const std::int64_t step = values.size() > 1 ? values[1] - values[0] : 0;
  while (end < values.size() && values[end] - values[end - 1] == step) ++end;
  if (end < 4) end = 0;
  std::string text;
  if (end > 0)
    text = std::to_string(values[0]) + " to " + std::to_string(values[end - 1]) + ", multiples of " + std::to_string(step);
  for (std::size_t i = end; i < values.size(); ++i)
    text += (text.empty() ? "" : i == end ? "; " : ", ") + std::to_string(values[i]);
  return text;
}

}  // namespace

void accept_what_any_runs(const NattenCall& call, const std::function<bool(const NattenCall&)>& runs, NattenRefusal& refusal) {
  NattenCall other = call;
  if (refusal.parameter == "dim" && call.head_dim == call.head_dim_value) {
    constexpr std::int64_t kMostHeadDim = 1024;
    std::vector<std::int64_t> accepted;
    for (std::int64_t head_dim = 1; head_dim <= kMostHeadDim; ++head_dim) {
      other.head_dim = other.head_dim_value = head_dim;
      if (runs(other)) accepted.push_back(head_dim);
    }
    if (accepted.empty()) return;
    const auto nearest = std::min_element(accepted.begin(), accepted.end(), [&](std::int64_t a, std::int64_t b) {
      return std::abs(a - call.head_dim) < std::abs(b - call.head_dim);
    });
    const std::int64_t step = accepted.front();
    const bool all = static_cast<std::int64_t>(accepted.size()) == kMostHeadDim / step;  // and so on
    refusal.accepted = all ? "multiples of " + std::to_string(step) : described(accepted);
    refusal.nearest = std::to_string(*nearest);
    refusal.rule = "no backend runs this head dim";
  } else if (refusal.parameter == "dtype") {
    std::string accepted;
    for (const Dtype dtype : values_of<Dtype>()) {
      other.dtype = dtype;
      if (runs(other)) accepted += (accepted.empty() ? "" : ", ") + std::string(to_string(dtype));
    }
    if (accepted.empty()) return;
    refusal.accepted = accepted;
    refusal.nearest = accepted.substr(0, accepted.find(','));
    refusal.rule = "no backend runs this type";
  }
}

}  // namespace natten_sim
