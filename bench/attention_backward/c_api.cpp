// Attention backward as a shared library, for programs that time it beside other kernels in one process.
//
// Tensors are (batch, tokens, heads, head_dim), LSE (batch, heads, tokens) in fp32. A plan is made once for
// tensors that stay where they are; launches go to the default stream.
#include <cstdio>
#include <exception>

#include <natten_sim/kernels/attention_backward/plan.hpp>

#include "tables.hpp"

namespace {

using namespace natten_sim;
namespace backward = natten_sim::kernels::attention_backward;

void lay_out_heads_last(backward::Problem& problem) {
  namespace forward = natten_sim::kernels::attention_forward;
  problem.q = problem.o = forward::heads_last(problem.heads, problem.q_tokens, problem.head_dim);
  problem.k = problem.v = forward::heads_last(problem.heads_kv, problem.kv_tokens, problem.head_dim);
}

ScheduleTable require_table(const backward::Problem& problem, const backward::KernelShape& kernel,
                            const char* algorithm, std::int32_t workers) {
  const auto table = bench::table_of(problem, kernel, algorithm, workers);
  if (!table) {
    throw InvalidParameter("algorithm", algorithm, "one that applies to this mask and number of workers",
                           "natten-sim list algorithms");
  }
  return *table;
}

}  // namespace

extern "C" {

struct natten_sim_gradients {
  const void *q, *k, *v, *o, *d_o;
  const float* lse;
  void *dq, *dk, *dv;
};

/// `algorithm`: a schedule of `natten-sim schedule`. Null when the problem is refused; the reason goes to
/// stderr.
void* natten_sim_plan_backward(const natten_sim_gradients* t, long batch, long heads, long heads_kv,
                               long tokens, long head_dim, int fp16, int causal, const char* algorithm,
                               int ordered) {
  try {
    const kernels::GpuInfo gpu = kernels::open_gpu();
    backward::Problem problem = bench::sequence(heads, tokens, head_dim, causal != 0);
    problem.batch = batch;
    problem.heads_kv = heads_kv;
    problem.dtype = fp16 != 0 ? Dtype::kFp16 : Dtype::kBf16;
    lay_out_heads_last(problem);
    const backward::KernelShape kernel = backward::best_kernel(problem);
    const ScheduleTable table = require_table(problem, kernel, algorithm, gpu.sms);
    return new backward::Plan(gpu, problem, kernel, table.problem, table.schedule,
                              ordered != 0 ? backward::Turns::kOrdered : backward::Turns::kUnordered,
                              {t->q, t->k, t->v, t->o, t->d_o, t->lse, t->dq, t->dk, t->dv});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

int natten_sim_launch_backward(const void* plan) {
  try {
    static_cast<const backward::Plan*>(plan)->launch();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

void natten_sim_destroy_backward(void* plan) { delete static_cast<backward::Plan*>(plan); }

}  // extern "C"
