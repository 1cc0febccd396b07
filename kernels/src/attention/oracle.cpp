#include <algorithm>
#include <cmath>
#include <cstring>

#include <Eigen/Core>

#include <natten_sim/kernels/attention/attention.hpp>

namespace natten_sim::kernels {
namespace {

float from_bits(std::uint16_t bits, Dtype dtype) {
  if (dtype == Dtype::kFp16) {
    return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
  }
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

float rounded(float value, Dtype dtype) {
  if (dtype == Dtype::kFp16) return static_cast<float>(Eigen::half(value));
  return static_cast<float>(Eigen::bfloat16(value));
}

/// A run of elements of a device tensor as floats.
std::vector<float> fetch(const DeviceBuffer& buffer, std::int64_t first, std::int64_t count, Dtype dtype) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
  buffer.copy_to_host(bits.data(), bits.size() * 2, static_cast<std::size_t>(first) * 2);
  std::vector<float> values(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = from_bits(bits[i], dtype);
  return values;
}

std::int64_t count_nans(const AttentionProblem& problem, const DeviceBuffer& o) {
  const std::uint16_t infinity = problem.dtype == Dtype::kFp16 ? 0x7c00 : 0x7f80;
  constexpr std::int64_t kChunk = 1 << 24;
  std::vector<std::uint16_t> bits;
  std::int64_t nans = 0;
  for (std::int64_t first = 0; first < problem.query_elements(); first += kChunk) {
    bits.resize(static_cast<std::size_t>(std::min(kChunk, problem.query_elements() - first)));
    o.copy_to_host(bits.data(), bits.size() * 2, static_cast<std::size_t>(first) * 2);
    nans += std::count_if(bits.begin(), bits.end(), [&](std::uint16_t b) { return (b & 0x7fff) > infinity; });
  }
  return nans;
}

struct Head {
  std::int64_t number = -1;  // of K and V
  std::vector<float> k, v;
};

}  // namespace

AttentionRow attention_row_oracle(std::span<const float> q, std::span<const float> k,
                                  std::span<const float> v, Dtype dtype) {
  const auto dim = static_cast<Eigen::Index>(q.size());
  const Eigen::Index keys = static_cast<Eigen::Index>(k.size()) / dim;
  using MapF = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const MapF k_matrix(k.data(), keys, dim), v_matrix(v.data(), keys, dim);
  const Eigen::Map<const Eigen::VectorXf> query(q.data(), dim);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));

  Eigen::VectorXd s = k_matrix.cast<double>() * query.cast<double>() * scale;
  const Eigen::VectorXd p = (s.array() - s.maxCoeff()).exp();
  const Eigen::VectorXd exact = v_matrix.cast<double>().transpose() * p / p.sum();

  // The same steps in the precision of the kernel, without online rescaling: scores and sums in fp32, P and O
  // rounded.
  const Eigen::VectorXf s32 = k_matrix * query * static_cast<float>(scale);
  Eigen::VectorXf p32 = (s32.array() - s32.maxCoeff()).exp();
  p32 /= p32.sum();
  for (float& value : p32) value = rounded(value, dtype);
  const Eigen::VectorXf o32 = v_matrix.transpose() * p32;

  AttentionRow row;
  row.exact.assign(exact.begin(), exact.end());
  for (const float value : o32) row.naive.push_back(rounded(value, dtype));
  return row;
}

AttentionError check_attention(const AttentionProblem& problem, const AttentionBuffers& buffers,
                               const std::vector<std::int64_t>& rows) {
  synchronize();
  const std::int64_t dim = problem.head_dim;
  double kernel = 0, naive = 0, norm = 0;
  Head head;
  for (const std::int64_t row : rows) {
    const std::int64_t token = row % problem.tokens;
    const std::int64_t q_head = row / problem.tokens % problem.heads;
    const std::int64_t batch = row / problem.tokens / problem.heads;
    const std::int64_t kv_head = batch * problem.heads_kv + q_head / (problem.heads / problem.heads_kv);
    if (head.number != kv_head) {
      const std::int64_t elements = problem.tokens * dim;
      head = {kv_head, fetch(buffers.k, kv_head * elements, elements, problem.dtype),
              fetch(buffers.v, kv_head * elements, elements, problem.dtype)};
    }
    const auto keys = static_cast<std::size_t>((problem.causal ? token + 1 : problem.tokens) * dim);
    const std::vector<float> q = fetch(buffers.q, row * dim, dim, problem.dtype);
    const std::vector<float> o = fetch(buffers.o, row * dim, dim, problem.dtype);
    const AttentionRow expected =
        attention_row_oracle(q, std::span(head.k).first(keys), std::span(head.v).first(keys), problem.dtype);
    for (std::size_t i = 0; i < o.size(); ++i) {
      const double off = o[i] - expected.exact[i];
      kernel += off * off;  // a NaN stays, and is no number of the bound
      naive += (expected.naive[i] - expected.exact[i]) * (expected.naive[i] - expected.exact[i]);
      norm += expected.exact[i] * expected.exact[i];
    }
  }
  return {std::sqrt(kernel / norm), std::sqrt(naive / norm), count_nans(problem, buffers.o)};
}

}  // namespace natten_sim::kernels
