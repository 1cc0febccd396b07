// Attention forward as a shared library, for programs that time it beside other kernels in one process.
//
// Tensors are (batch, tokens, heads, head_dim), LSE (batch, heads, tokens) in fp32. A plan is made once for
// tensors that stay where they are; launches go to the default stream.
#include <cstdio>
#include <exception>

#include "tensors.hpp"

namespace {

using namespace natten_sim;
namespace forward = natten_sim::kernels::attention_forward;

const kernels::GpuInfo& gpu() {
  static const kernels::GpuInfo info = kernels::open_gpu();
  return info;
}

void set_layout(forward::Problem& problem) {
  problem.q = problem.o = forward::heads_last(problem.heads, problem.q_tokens, problem.head_dim);
  problem.k = problem.v = forward::heads_last(problem.heads_kv, problem.kv_tokens, problem.head_dim);
}

template <typename Make>
void* plan_or_null(Make make) {
  try {
    return new forward::Plan(make());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

forward::Plan best_plan(const forward::Problem& problem, const forward::Tensors& tensors) {
  return forward::Plan(gpu(), problem, forward::best_kernel(problem), forward::best_schedule(problem),
                       tensors);
}

}  // namespace

extern "C" {

struct natten_sim_tensors {
  const void *q, *k, *v;
  void* o;
  float* lse;
};

void* natten_sim_plan_sequence(const natten_sim_tensors* t, long batch, long heads, long heads_kv,
                               long q_tokens, long kv_tokens, long head_dim, int fp16, int causal) {
  return plan_or_null([&] {
    forward::Problem problem = bench::sequence(heads, q_tokens, head_dim, causal != 0);
    problem.batch = batch;
    problem.heads_kv = heads_kv;
    problem.kv_tokens = kv_tokens;
    problem.dtype = fp16 != 0 ? Dtype::kFp16 : Dtype::kBf16;
    set_layout(problem);
    return best_plan(problem, {t->q, t->k, t->v, t->o, t->lse});
  });
}

/// `axes`: for each axis, outermost first: length, window, stride, dilation, causal, Q tile, KV tile.
void* natten_sim_plan_neighborhood(const natten_sim_tensors* t, long batch, long heads, long head_dim,
                                   int fp16, int rank, const long* axes) {
  return plan_or_null([&] {
    Extents input, window, stride, dilation, q_tile, kv_tile;
    PerAxis<bool> causal;
    for (int axis = 0; axis < rank; ++axis) {
      const long* of = axes + 7 * axis;
      input.push_back(of[0]);
      window.push_back(of[1]);
      stride.push_back(of[2]);
      dilation.push_back(of[3]);
      causal.push_back(of[4] != 0);
      q_tile.push_back(of[5]);
      kv_tile.push_back(of[6]);
    }
    forward::Problem problem = bench::neighborhood(
        heads, head_dim, make_mask(input, window, stride, dilation, causal), q_tile, kv_tile);
    problem.batch = batch;
    problem.dtype = fp16 != 0 ? Dtype::kFp16 : Dtype::kBf16;
    set_layout(problem);
    return best_plan(problem, {t->q, t->k, t->v, t->o, t->lse});
  });
}

int natten_sim_launch(const void* plan) {
  try {
    static_cast<const forward::Plan*>(plan)->launch();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

void natten_sim_destroy(void* plan) { delete static_cast<forward::Plan*>(plan); }

}  // extern "C"
