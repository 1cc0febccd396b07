#include "tensors.hpp"

#include <algorithm>
#include <fstream>

namespace natten_sim::bench {
namespace {

using kernels::DeviceBuffer;

constexpr std::int64_t kGuard = 64 * 1024;  // elements behind each tensor

std::int64_t elements(const backward::TensorStrides& strides, std::int64_t batch, std::int64_t heads,
                      std::int64_t tokens, std::int64_t head_dim) {
  return (batch - 1) * strides.batch + (heads - 1) * strides.head + (tokens - 1) * strides.token + head_dim;
}

/// Fills all but the rows of tokens with NaN, or the rows of tokens alone.
void keep_rows(std::vector<std::uint16_t>& values, const backward::TensorStrides& strides, std::int64_t batch,
               std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, bool keep) {
  std::vector<std::uint16_t> kept = keep ? std::vector<std::uint16_t>(values.size(), 0xffff) : values;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t row = b * strides.batch + h * strides.head + t * strides.token;
        if (keep) {
          std::copy_n(values.begin() + row, head_dim, kept.begin() + row);
        } else {
          std::fill_n(kept.begin() + row, head_dim, std::uint16_t{0xffff});
        }
      }
    }
  }
  values = std::move(kept);
}

std::vector<std::uint16_t> fetch(const DeviceBuffer& buffer) {
  std::vector<std::uint16_t> bits(buffer.bytes() / 2);
  buffer.copy_to_host(bits.data(), bits.size() * 2);
  return bits;
}

DeviceBuffer input(const backward::Problem& problem, const backward::TensorStrides& strides,
                   std::int64_t heads, std::int64_t tokens, bool padded, std::uint64_t seed) {
  const std::int64_t count = elements(strides, problem.batch, heads, tokens, problem.head_dim);
  DeviceBuffer buffer(static_cast<std::size_t>(count + kGuard) * 2);
  buffer.fill(0xff);
  kernels::fill_random(buffer, count, problem.dtype, seed);
  if (!padded) return buffer;
  std::vector<std::uint16_t> all = fetch(buffer);
  keep_rows(all, strides, problem.batch, heads, tokens, problem.head_dim, true);
  buffer.copy_from_host(all.data(), all.size() * 2);
  return buffer;
}

}  // namespace

Storage::Storage(const kernels::GpuInfo& gpu, backward::Problem& problem, std::int64_t padding,
                 std::uint64_t seed) {
  problem.q = problem.o =
      kernels::attention_forward::heads_first(problem.heads, problem.q_tokens + padding, problem.head_dim);
  problem.k = problem.v = kernels::attention_forward::heads_first(
      problem.heads_kv, problem.kv_tokens + padding, problem.head_dim);
  const bool padded = padding > 0;
  q_ = input(problem, problem.q, problem.heads, problem.q_tokens, padded, 4 * seed);
  k_ = input(problem, problem.k, problem.heads_kv, problem.kv_tokens, padded, 4 * seed + 1);
  v_ = input(problem, problem.v, problem.heads_kv, problem.kv_tokens, padded, 4 * seed + 2);
  d_o_ = input(problem, problem.o, problem.heads, problem.q_tokens, padded, 4 * seed + 3);
  o_ = DeviceBuffer(d_o_.bytes());
  o_.fill(0xff);
  lse_ = DeviceBuffer(static_cast<std::size_t>(problem.batch * problem.heads * problem.q_tokens) * 4);
  dq_ = DeviceBuffer(q_.bytes());
  dk_ = DeviceBuffer(k_.bytes());
  dv_ = DeviceBuffer(v_.bytes());
  poison();
  if (problem.pairs != nullptr || !runs_on(gpu, kernels::AttentionEngine::kWgmma)) {
    backward::write_forward(problem, tensors(), o_.data(), static_cast<float*>(lse_.data()));
    return;
  }
  const kernels::attention_forward::Problem forward = backward::forward_of(problem);
  kernels::attention_forward::Plan(
      gpu, forward, kernels::attention_forward::best_kernel(forward),
      kernels::attention_forward::best_schedule(forward),
      {q_.data(), k_.data(), v_.data(), o_.data(), static_cast<float*>(lse_.data())})
      .launch();
  kernels::synchronize();
}

backward::Tensors Storage::tensors() const {
  return {q_.data(),  k_.data(),  v_.data(), o_.data(), d_o_.data(), static_cast<const float*>(lse_.data()),
          dq_.data(), dk_.data(), dv_.data()};
}

void Storage::poison() {
  dq_.fill(0xff);
  dk_.fill(0xff);
  dv_.fill(0xff);
}

std::int64_t Storage::overwritten(const backward::Problem& problem) const {
  std::int64_t count = 0;
  const auto look = [&](const DeviceBuffer& buffer, const backward::TensorStrides& strides,
                        std::int64_t heads, std::int64_t tokens) {
    std::vector<std::uint16_t> all = fetch(buffer);
    keep_rows(all, strides, problem.batch, heads, tokens, problem.head_dim, false);
    count += std::count_if(all.begin(), all.end(), [](std::uint16_t bits) { return bits != 0xffff; });
  };
  look(dq_, problem.q, problem.heads, problem.q_tokens);
  look(dk_, problem.k, problem.heads_kv, problem.kv_tokens);
  look(dv_, problem.v, problem.heads_kv, problem.kv_tokens);
  return count;
}

backward::HostTensors Storage::host_inputs() const { return {fetch(q_), fetch(k_), fetch(v_), fetch(d_o_)}; }

Storage::Bits Storage::bits() const {
  const auto hash = [](const DeviceBuffer& buffer) {
    std::uint64_t value = 0xcbf29ce484222325;
    std::vector<std::uint64_t> words(buffer.bytes() / 8);
    buffer.copy_to_host(words.data(), words.size() * 8);
    for (const std::uint64_t word : words) value = (value ^ word) * 0x100000001b3;
    return value;
  };
  return {hash(dq_), hash(dk_), hash(dv_)};
}

void Storage::dump(const std::string& folder, const std::string& name) const {
  for (const auto& [suffix, buffer] : {std::pair{".q", &q_},
                                       {".k", &k_},
                                       {".v", &v_},
                                       {".do", &d_o_},
                                       {".dq", &dq_},
                                       {".dk", &dk_},
                                       {".dv", &dv_}}) {
    const std::vector<std::uint16_t> all = fetch(*buffer);
    std::ofstream(folder + "/" + name + suffix, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * 2));
  }
}

bool runs_on(const kernels::GpuInfo& gpu, kernels::AttentionEngine engine) {
  return engine == kernels::AttentionEngine::kMmaSync || (gpu.compute_major == 9 && gpu.compute_minor == 0);
}

kernels::AttentionEngine best_engine(const kernels::GpuInfo& gpu) {
  return runs_on(gpu, kernels::AttentionEngine::kWgmma) ? kernels::AttentionEngine::kWgmma
                                                        : kernels::AttentionEngine::kMmaSync;
}

backward::Problem sequence(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, bool causal) {
  backward::Problem problem;
  problem.heads = problem.heads_kv = heads;
  problem.q_tokens = problem.kv_tokens = tokens;
  problem.head_dim = head_dim;
  if (causal) problem.mask.right = 0;
  backward::lay_out_heads_first(problem);
  return problem;
}

}  // namespace natten_sim::bench
