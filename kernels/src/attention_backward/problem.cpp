#include <cmath>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/attention_backward/problem.hpp>

namespace natten_sim::kernels::attention_backward {

double Problem::softmax_scale() const noexcept {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

const char* to_string(Pipeline pipeline) noexcept {
  switch (pipeline) {
    case Pipeline::kWaitsApart:
      return "waits apart";
    case Pipeline::kWaitsTogether:
      return "waits together";
    case Pipeline::kWaitsLate:
      return "waits late";
    case Pipeline::kDqInTurn:
      return "dQ in turn";
  }
  return "";
}

void lay_out_heads_first(Problem& problem) noexcept {
  problem.q = problem.o = attention_forward::heads_first(problem.heads, problem.q_tokens, problem.head_dim);
  problem.k = problem.v =
      attention_forward::heads_first(problem.heads_kv, problem.kv_tokens, problem.head_dim);
}

attention_forward::Problem forward_of(const Problem& problem) {
  attention_forward::Problem forward;
  forward.batch = problem.batch;
  forward.heads = problem.heads;
  forward.heads_kv = problem.heads_kv;
  forward.q_tokens = problem.q_tokens;
  forward.kv_tokens = problem.kv_tokens;
  forward.head_dim = problem.head_dim;
  forward.dtype = problem.dtype;
  forward.scale = problem.scale;
  forward.q = problem.q;
  forward.k = problem.k;
  forward.v = problem.v;
  forward.o = problem.o;
  forward.mask = problem.mask;
  return forward;
}

void require_valid(const Problem& problem) {
  attention_forward::require_valid(forward_of(problem));
  if (problem.pairs != nullptr &&
      (problem.pairs->q_tokens() != problem.q_tokens || problem.pairs->kv_tokens() != problem.kv_tokens)) {
    throw InvalidParameter(
        "pairs",
        std::to_string(problem.pairs->q_tokens()) + " x " + std::to_string(problem.pairs->kv_tokens()),
        std::to_string(problem.q_tokens) + " x " + std::to_string(problem.kv_tokens) +
            ", the problem's tokens");
  }
  const auto require_below = [](const char* name, std::int64_t value, std::int64_t limit) {
    if (value >= limit)
      throw InvalidParameter(name, std::to_string(value), "fewer than " + std::to_string(limit));
  };
  require_below("heads", problem.heads, 65536);
  require_below("batch", problem.batch, 65536);
  require_below("rows", problem.batch * problem.heads * (problem.q_tokens + 256), std::int64_t{1} << 31);
}

KernelShape best_kernel(const Problem& problem, AttentionEngine engine) {
  KernelShape shape;
  if (problem.head_dim != 64 && problem.head_dim != 96 && problem.head_dim != 128)
    throw InvalidParameter("head_dim", std::to_string(problem.head_dim), "64, 96 or 128");
  shape.head_dim = problem.head_dim <= 64 ? 64 : 128;
  shape.dtype = problem.dtype;
  shape.pairs = problem.pairs != nullptr;
  shape.engine = engine;
  if (shape.head_dim == 64) shape.q_tile = 128;
  return shape;
}

}  // namespace natten_sim::kernels::attention_backward
