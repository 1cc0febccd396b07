#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::kernels::attention_forward {
namespace {

bool sees(const Problem& problem, std::int64_t query, std::int64_t key) {
  if (const Band* band = std::get_if<Band>(&problem.mask)) {
    const std::int64_t distance = key - (query + problem.kv_tokens - problem.q_tokens);
    return (!band->left || distance >= -*band->left) && (!band->right || distance <= *band->right);
  }
  const NeighborhoodMask& mask = std::get<Neighborhood>(problem.mask).mask;
  for (std::size_t i = mask.rank(); i-- > 0;) {
    const AxisMask& axis = mask[i];
    const std::int64_t from = query % axis.length, to = key % axis.length;
    query /= axis.length;
    key /= axis.length;
    if (from % axis.dilation != to % axis.dilation) return false;
    const TokenRange range = attended_range(residue_class(axis, from % axis.dilation), from / axis.dilation);
    if (to / axis.dilation < range.begin || to / axis.dilation >= range.end) return false;
  }
  return true;
}

}  // namespace

double value_of_bits(std::uint16_t bits, Dtype dtype) noexcept {
  if (dtype == Dtype::kBf16) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

ReferenceRow reference_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                           std::int64_t head, std::int64_t query) {
  require_valid(problem);
  const std::int64_t kv_head = head / (problem.heads / problem.heads_kv);
  const auto element = [&](const std::vector<std::uint16_t>& tensor, const TensorStrides& strides,
                           std::int64_t of_head, std::int64_t token, std::int64_t column) {
    const std::int64_t at = batch * strides.batch + of_head * strides.head + token * strides.token + column;
    return value_of_bits(tensor.at(static_cast<std::size_t>(at)), problem.dtype);
  };
  struct Key {
    bool extra;
    std::int64_t token;
  };
  std::vector<Key> keys;
  std::vector<double> scores;
  double top = -std::numeric_limits<double>::infinity();
  const auto take = [&](const Key& key) {
    double score = 0;
    for (std::int64_t d = 0; d < problem.head_dim; ++d) {
      score += element(tensors.q, problem.q, head, query, d) *
               element(key.extra ? tensors.extra_k : tensors.k, key.extra ? problem.extra_k : problem.k,
                       kv_head, key.token, d);
    }
    keys.push_back(key);
    scores.push_back(score * problem.softmax_scale());
    top = std::max(top, scores.back());
  };
  for (std::int64_t key = 0; key < problem.kv_tokens; ++key) {
    if (sees(problem, query, key)) take({false, key});
  }
  for (std::int64_t key = 0; key < problem.extra_tokens; ++key) take({true, key});
  ReferenceRow row;
  row.o.assign(static_cast<std::size_t>(problem.head_dim), 0.0);
  row.absolute = row.o;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - top);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double probability = std::exp(scores[i] - top) / sum;
    for (std::size_t d = 0; d < row.o.size(); ++d) {
      const Key& key = keys[i];
      const double value =
          element(key.extra ? tensors.extra_v : tensors.v, key.extra ? problem.extra_v : problem.v, kv_head,
                  key.token, static_cast<std::int64_t>(d));
      row.o[d] += probability * value;
      row.absolute[d] += probability * std::abs(value);
    }
  }
  row.lse = keys.empty() ? -std::numeric_limits<double>::infinity() : top + std::log(sum);
  return row;
}

}  // namespace natten_sim::kernels::attention_forward
