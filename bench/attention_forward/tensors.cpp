#include "tensors.hpp"

#include <algorithm>

#include <natten_sim/validate/cases/gna.hpp>

namespace natten_sim::bench {
namespace {

using kernels::DeviceBuffer;

std::int64_t elements(const forward::TensorStrides& strides, std::int64_t batch, std::int64_t heads,
                      std::int64_t tokens, std::int64_t head_dim) {
  return (batch - 1) * strides.batch + (heads - 1) * strides.head + (tokens - 1) * strides.token + head_dim;
}

/// Calls `visit` with the position of the first element of every token of every head.
template <typename Visit>
void for_each_row(const forward::TensorStrides& strides, std::int64_t batch, std::int64_t heads,
                  std::int64_t tokens, Visit visit) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < tokens; ++t)
        visit(b * strides.batch + h * strides.head + t * strides.token);
    }
  }
}

constexpr std::int64_t kGuard = 64 * 1024;  // elements behind each tensor

DeviceBuffer input(const forward::TensorStrides& strides, std::int64_t batch, std::int64_t heads,
                   std::int64_t tokens, const forward::Problem& problem, bool padded, std::uint64_t seed) {
  const std::int64_t count = elements(strides, batch, heads, tokens, problem.head_dim);
  DeviceBuffer buffer(static_cast<std::size_t>(count + kGuard) * 2);
  buffer.fill(0xff);
  kernels::fill_random(buffer, count, problem.dtype, seed);
  if (!padded) return buffer;
  // Between the tokens, too: keep the random rows and nothing else.
  std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
  buffer.copy_to_host(all.data(), all.size() * 2);
  std::vector<std::uint16_t> kept(all.size(), 0xffff);
  for_each_row(strides, batch, heads, tokens, [&](std::int64_t row) {
    std::copy_n(all.begin() + row, problem.head_dim, kept.begin() + row);
  });
  buffer.copy_from_host(kept.data(), kept.size() * 2);
  return buffer;
}

}  // namespace

Storage::Storage(forward::Problem& problem, HeadLayout layout, std::int64_t padding, std::uint64_t seed) {
  const auto strides = [&](std::int64_t heads, std::int64_t tokens) {
    return layout == HeadLayout::kHeadsFirst ? forward::heads_first(heads, tokens + padding, problem.head_dim)
                                             : forward::heads_last(heads, tokens, problem.head_dim);
  };
  problem.q = problem.o = strides(problem.heads, problem.q_tokens);
  problem.k = problem.v = strides(problem.heads_kv, problem.kv_tokens);
  q_ = input(problem.q, problem.batch, problem.heads, problem.q_tokens, problem, padding > 0, 3 * seed);
  k_ = input(problem.k, problem.batch, problem.heads_kv, problem.kv_tokens, problem, padding > 0,
             3 * seed + 1);
  v_ = input(problem.v, problem.batch, problem.heads_kv, problem.kv_tokens, problem, padding > 0,
             3 * seed + 2);
  if (problem.extra_tokens > 0) {
    problem.extra_k = problem.extra_v = strides(problem.heads_kv, problem.extra_tokens);
    extra_k_ = input(problem.extra_k, problem.batch, problem.heads_kv, problem.extra_tokens, problem,
                     padding > 0, 5 * seed + 3);
    extra_v_ = input(problem.extra_v, problem.batch, problem.heads_kv, problem.extra_tokens, problem,
                     padding > 0, 5 * seed + 4);
  }
  const std::int64_t count =
      elements(problem.o, problem.batch, problem.heads, problem.q_tokens, problem.head_dim);
  o_ = DeviceBuffer(static_cast<std::size_t>(count + kGuard) * 2);
  lse_ =
      DeviceBuffer(static_cast<std::size_t>(problem.batch * problem.heads * problem.q_tokens + kGuard) * 4);
  poison();
}

forward::Tensors Storage::tensors() const {
  return {q_.data(),       k_.data(),      v_.data(), o_.data(), static_cast<float*>(lse_.data()),
          extra_k_.data(), extra_v_.data()};
}

void Storage::poison() {
  o_.fill(0xff);
  lse_.fill(0xff);
}

void Storage::zero_inputs() {
  for (DeviceBuffer* buffer : {&q_, &k_, &v_}) buffer->fill(0);
}

std::int64_t Storage::overwritten(const forward::Problem& problem) const {
  std::vector<std::uint16_t> o(o_.bytes() / 2);
  o_.copy_to_host(o.data(), o_.bytes());
  for_each_row(problem.o, problem.batch, problem.heads, problem.q_tokens, [&](std::int64_t row) {
    std::fill_n(o.begin() + row, problem.head_dim, std::uint16_t{0xffff});
  });
  std::vector<std::uint32_t> lse(lse_.bytes() / 4);
  lse_.copy_to_host(lse.data(), lse_.bytes());
  const auto rows = problem.batch * problem.heads * problem.q_tokens;
  return std::count_if(o.begin(), o.end(), [](std::uint16_t bits) { return bits != 0xffff; }) +
         std::count_if(lse.begin() + rows, lse.end(), [](std::uint32_t bits) { return bits != 0xffffffff; });
}

forward::HostTensors Storage::host_inputs() const {
  const auto fetch = [](const DeviceBuffer& buffer) {
    std::vector<std::uint16_t> bits(buffer.bytes() / 2);
    buffer.copy_to_host(bits.data(), buffer.bytes());
    return bits;
  };
  return {fetch(q_), fetch(k_), fetch(v_), fetch(extra_k_), fetch(extra_v_)};
}

std::uint64_t Storage::output_bits() const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const DeviceBuffer* buffer : {&o_, &lse_}) {
    std::vector<std::uint64_t> words(buffer->bytes() / 8);
    buffer->copy_to_host(words.data(), words.size() * 8);
    for (const std::uint64_t word : words) hash = (hash ^ word) * 0x100000001b3;
  }
  return hash;
}

forward::Problem sequence(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, bool causal) {
  forward::Problem problem;
  problem.heads = problem.heads_kv = heads;
  problem.q_tokens = problem.kv_tokens = tokens;
  problem.head_dim = head_dim;
  forward::Band band;
  if (causal) band.right = 0;
  problem.mask = band;
  return problem;
}

forward::Problem neighborhood(std::int64_t heads, std::int64_t head_dim, const NeighborhoodMask& mask,
                              const Extents& q_tile, const Extents& kv_tile) {
  forward::Problem problem;
  problem.heads = problem.heads_kv = heads;
  problem.q_tokens = problem.kv_tokens = product(input_of(mask), "tokens");
  problem.head_dim = head_dim;
  problem.mask = forward::Neighborhood{mask, q_tile, kv_tile, validate::visited_tiles(mask, q_tile, kv_tile)};
  return problem;
}

}  // namespace natten_sim::bench
