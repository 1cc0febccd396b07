// Attention: plans and launches.
#include <algorithm>
#include <memory>

#include <natten_sim/kernels/attention_backward/plan.hpp>
#include <natten_sim/kernels/gpu/stream_scope.hpp>

#include "failure.hpp"
#include "problem.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::operators;

struct ForwardPlan {
  int device;
  Extents q_tile, kv_tile;
  std::int64_t visits;
  forward::Plan plan;
};

struct BackwardTiles {
  int device;
  backward::Problem problem;
  backward::KernelShape kernel;
  Places places;
  BackwardProblem tiles;
};

struct BackwardPlan {
  int device;
  backward::Plan plan;
};

ForwardPlan* new_forward_plan(int device, const natten_sim_attention& given) {
  const kernels::GpuInfo& gpu = opened(device);
  const forward::Problem problem = forward_problem(given);
  const forward::KernelShape kernel = forward::best_kernel(problem);
  Extents q_tile = {kernel.q_tile}, kv_tile = {kernel.kv_tile};
  std::int64_t visits = 0;
  if (const auto* neighborhood = std::get_if<forward::Neighborhood>(&problem.mask)) {
    q_tile = neighborhood->q_tile;
    kv_tile = neighborhood->kv_tile;
    visits = std::ssize(neighborhood->visits);
  }
  return new ForwardPlan{device, q_tile, kv_tile, visits,
                         forward::Plan(gpu, problem, kernel, forward::best_schedule(problem), {})};
}

/// Chains over the query heads of a KV head where there are enough of them: dK and dV then stay in registers.
BackwardTiles* new_backward_tiles(int device, const natten_sim_attention& given) {
  const std::int32_t workers = opened(device).sms;
  auto made = std::make_unique<BackwardTiles>();
  made->device = device;
  made->problem = backward_problem(given, made->places);
  const backward::Problem& problem = made->problem;
  made->kernel = backward::best_kernel(problem);
  const std::int64_t kv_tiles = (problem.kv_tokens + made->kernel.kv_tile - 1) / made->kernel.kv_tile;
  const std::int64_t q_tiles = (problem.q_tokens + made->kernel.q_tile - 1) / made->kernel.q_tile;
  const bool group = problem.heads != problem.heads_kv && problem.batch * problem.heads_kv * kv_tiles >= workers &&
                     q_tiles * (problem.heads / problem.heads_kv) < 65536;
  made->tiles = group ? backward::grouped_problem(problem, made->kernel, workers)
                      : backward::scheduling_problem(problem, made->kernel, workers);
  return made.release();
}

BackwardSchedule schedule_of(const natten_sim_schedule& given, const BackwardProblem& tiles) {
  BackwardSchedule made;
  made.dispatch = given.worker != nullptr ? Dispatch::kStatic : Dispatch::kDynamic;
  for (std::int32_t chain = 0; chain < given.chains; ++chain) {
    made.chains.push_back({given.head[chain], given.kv_tile[chain],
                           {given.q_order + given.q_offsets[chain], given.q_order + given.q_offsets[chain + 1]}});
    if (given.worker != nullptr) made.worker.push_back(given.worker[chain]);
  }
  if (given.dq_offsets == nullptr) return made;
  const std::int64_t cells = static_cast<std::int64_t>(tiles.heads) * tiles.mask.q_tiles;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    made.dq_order.emplace_back(given.kv_order + given.dq_offsets[cell],
                               given.kv_order + given.dq_offsets[cell + 1]);
  }
  return made;
}

const BackwardTiles& tiles_at(const void* problem) { return *static_cast<const BackwardTiles*>(problem); }

}  // namespace

void* natten_sim_ops_forward_plan(int device, const natten_sim_attention* problem) {
  return guarded<void*>(nullptr, [&] { return new_forward_plan(device, *problem); });
}

int64_t natten_sim_ops_forward_workspace(const void* plan) {
  return static_cast<int64_t>(static_cast<const ForwardPlan*>(plan)->plan.workspace_bytes());
}

void natten_sim_ops_forward_tiles(const void* plan, int64_t q_tile[4], int64_t kv_tile[4], int64_t* visits) {
  const auto& of = *static_cast<const ForwardPlan*>(plan);
  std::fill_n(q_tile, 4, 0);
  std::fill_n(kv_tile, 4, 0);
  std::ranges::copy(of.q_tile, q_tile);
  std::ranges::copy(of.kv_tile, kv_tile);
  *visits = of.visits;
}

int natten_sim_ops_forward(const void* plan, const natten_sim_forward_tensors* t, void* workspace,
                           void* stream) {
  return guarded(1, [&] {
    const auto& of = *static_cast<const ForwardPlan*>(plan);
    (void)opened(of.device);
    const kernels::StreamScope scope(stream);
    of.plan.launch_on({t->q, t->k, t->v, t->o, t->lse, t->extra_k, t->extra_v}, workspace);
    return 0;
  });
}

void natten_sim_ops_forward_free(void* plan) { delete static_cast<ForwardPlan*>(plan); }

void* natten_sim_ops_backward_problem(int device, const natten_sim_attention* problem) {
  return guarded<void*>(nullptr, [&] { return new_backward_tiles(device, *problem); });
}

int natten_sim_ops_backward_tiles(const void* problem, natten_sim_backward_tiles* tiles) {
  return guarded(1, [&] {
    const BackwardTiles& of = tiles_at(problem);
    *tiles = {of.kernel.q_tile,
              of.kernel.kv_tile,
              of.tiles.mask.q_tiles,
              of.tiles.mask.kv_tiles,
              of.tiles.merged_heads > 1,
              of.problem.q_tokens,
              of.problem.kv_tokens};
    return 0;
  });
}

int natten_sim_ops_backward_mask(const void* problem, uint8_t* mask) {
  return guarded(1, [&] {
    const BlockMask& blocks = tiles_at(problem).tiles.mask;
    for (std::int32_t q = 0; q < blocks.q_tiles; ++q) {
      for (std::int32_t kv = 0; kv < blocks.kv_tiles; ++kv) *mask++ = static_cast<uint8_t>(blocks.at(q, kv));
    }
    return 0;
  });
}

const int64_t* natten_sim_ops_backward_q_order(const void* problem) {
  const std::vector<std::int64_t>& places = tiles_at(problem).places.q;
  return places.empty() ? nullptr : places.data();
}

const int64_t* natten_sim_ops_backward_kv_order(const void* problem) {
  const std::vector<std::int64_t>& places = tiles_at(problem).places.kv;
  return places.empty() ? nullptr : places.data();
}

void natten_sim_ops_backward_problem_free(void* problem) { delete static_cast<BackwardTiles*>(problem); }

void* natten_sim_ops_backward_plan(const void* problem, const natten_sim_schedule* schedule) {
  return guarded<void*>(nullptr, [&] {
    const BackwardTiles& of = tiles_at(problem);
    const kernels::GpuInfo& gpu = opened(of.device);
    BackwardProblem tiles = of.tiles;
    tiles.workers = schedule->workers;
    return new BackwardPlan{of.device, backward::Plan(gpu, of.problem, of.kernel, tiles,
                                                      schedule_of(*schedule, tiles), backward::Turns::kOrdered, {})};
  });
}

int64_t natten_sim_ops_backward_workspace(const void* plan) {
  return static_cast<int64_t>(static_cast<const BackwardPlan*>(plan)->plan.workspace_bytes());
}

int natten_sim_ops_backward(const void* plan, const natten_sim_backward_tensors* t, void* workspace,
                            void* stream) {
  return guarded(1, [&] {
    const auto& of = *static_cast<const BackwardPlan*>(plan);
    (void)opened(of.device);
    const kernels::StreamScope scope(stream);
    of.plan.launch_on({t->q, t->k, t->v, t->o, t->d_o, t->lse, t->dq, t->dk, t->dv}, workspace);
    return 0;
  });
}

void natten_sim_ops_backward_free(void* plan) { delete static_cast<BackwardPlan*>(plan); }
