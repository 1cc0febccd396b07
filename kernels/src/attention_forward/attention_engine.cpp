#include <string>

#include <natten_sim/kernels/attention_forward/attention_engine.hpp>

namespace natten_sim::kernels::attention_forward {

Problem problem_of(const AttentionProblem& problem) {
  Problem made;
  made.batch = problem.batch;
  made.heads = problem.heads;
  made.heads_kv = problem.heads_kv;
  made.q_tokens = made.kv_tokens = problem.tokens;
  made.head_dim = problem.head_dim;
  made.dtype = problem.dtype;
  made.q = made.o = heads_first(problem.heads, problem.tokens, problem.head_dim);
  made.k = made.v = heads_first(problem.heads_kv, problem.tokens, problem.head_dim);
  Band band;
  if (problem.causal) band.right = 0;
  made.mask = band;
  return made;
}

KernelShape shape_of(const AttentionProblem& problem, const AttentionVariant& variant) {
  const KernelShape shape = best_kernel(problem_of(problem));
  if (shape.q_tile != variant.q_tile || shape.kv_tile != variant.kv_tile || shape.v_stages != variant.stages) {
    const auto text = [](int q_tile, int kv_tile, int stages) {
      return std::to_string(q_tile) + "x" + std::to_string(kv_tile) + "x" + std::to_string(stages);
    };
    throw InvalidParameter("tiles", text(variant.q_tile, variant.kv_tile, variant.stages),
                           text(shape.q_tile, shape.kv_tile, shape.v_stages) + " at this head dimension");
  }
  return shape;
}

Schedule schedule_of(const AttentionVariant& variant) {
  Schedule schedule;
  switch (variant.schedule) {
    case CtaSchedule::kPersistent:
      schedule.dispatch = Dispatch::kStatic;
      break;
    case CtaSchedule::kGrid:
      schedule.dispatch = Dispatch::kGrid;
      break;
    case CtaSchedule::kTile:
      throw InvalidParameter("schedule", to_string(variant.schedule), "persistent, grid", "grid");
  }
  schedule.walk = variant.walk;
  schedule.last_q_tile_first = variant.last_q_tile_first;
  schedule.ctas = variant.ctas;
  return schedule;
}

Tensors tensors_of(const AttentionBuffers& buffers) {
  return {buffers.q.data(), buffers.k.data(), buffers.v.data(), buffers.o.data(),
          static_cast<float*>(buffers.lse.data())};
}

AttentionLaunch prepare(const GpuInfo& gpu, const AttentionProblem& problem, const AttentionVariant& variant,
                        const AttentionBuffers& buffers) {
  if (variant.ctas > gpu.sms)
    throw HardwareAbsent(std::to_string(variant.ctas) + " CTAs at once",
                         gpu.name + " has " + std::to_string(gpu.sms) + " SMs");
  const auto plan = std::make_shared<const Plan>(gpu, problem_of(problem), shape_of(problem, variant),
                                                 schedule_of(variant), tensors_of(buffers));
  return [plan](DeviceBuffer* intervals) { plan->launch(intervals); };
}

Deviation check_whole(const AttentionProblem& problem, const AttentionBuffers& buffers) {
  const Problem whole = problem_of(problem);
  const Tensors tensors = tensors_of(buffers);
  return deviation(whole, tensors, reference_on_gpu(whole, tensors));
}

}  // namespace natten_sim::kernels::attention_forward
