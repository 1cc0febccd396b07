// Tensor maps, lists and memory of a launch.
#include <algorithm>
#include <string>

#include <cuda_runtime.h>

#include "attention_backward/instances.hpp"
#include "attention_backward/tile_masks.hpp"
#include "attention_forward/tensor_map.cuh"
#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"

namespace natten_sim::kernels::attention_backward {
namespace {

/// The kernel of that shape; one that draws early where none draws as asked (steps of the ladder, mma.sync).
const Instance& find_instance(const KernelShape& shape, Draws draws) {
  const Instance* found = nullptr;
  for (const auto& table : {kernels_of_head_dim_64(), kernels_of_head_dim_128(), kernels_that_draw_in_time(),
                            ladder_steps(), mma_kernels_of_head_dim_64(), mma_kernels_of_head_dim_128()}) {
    for (const Instance& instance : table) {
      if (instance.shape != shape) continue;
      if (instance.draws == draws) return instance;
      if (instance.draws == Draws::kEarly) found = &instance;
    }
  }
  if (found != nullptr) return *found;
  throw InvalidParameter("kernel",
                         std::to_string(shape.q_tile) + "x" + std::to_string(shape.kv_tile) + ", head dim " +
                             std::to_string(shape.head_dim) + (shape.pairs ? ", pairs, " : ", ") +
                             natten_sim::to_string(shape.engine),
                         "one of built_kernels()");
}

CUtensorMap rows_map(const Problem& problem, const void* data, const TensorStrides& strides,
                     std::int64_t heads, std::int64_t tokens, int rows) {
  attention_forward::Layout layout;
  layout.length[0] = tokens;
  layout.step[0] = 1;
  return attention_forward::encode(forward_of(problem), {data, strides, heads}, layout, {rows, 1, 1}, 64);
}

RowStrides row_strides(const TensorStrides& strides) { return {strides.batch, strides.head, strides.token}; }

/// @throws HardwareAbsent when the GPU cannot run the engine, InvalidParameter when the kernel is another
/// problem's or the schedule has more workers than run at once.
void require_fits(const GpuInfo& gpu, const Problem& problem, const Instance& instance,
                  const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  const KernelShape& kernel = instance.shape;
  const bool any = kernel.engine == AttentionEngine::kMmaSync;
  if (any ? gpu.compute_major < 8 : gpu.compute_major != 9 || gpu.compute_minor != 0) {
    throw HardwareAbsent(any ? "an sm_80 GPU or a later one" : "an sm_90 GPU",
                         gpu.name + " is sm_" + std::to_string(gpu.compute_major * 10 + gpu.compute_minor));
  }
  if (gpu.shared_memory_per_block_bytes < instance.shared_bytes) {
    throw HardwareAbsent(std::to_string(instance.shared_bytes) + " bytes of shared memory a block",
                         gpu.name + " has " + std::to_string(gpu.shared_memory_per_block_bytes));
  }
  if (kernel.dtype != problem.dtype || kernel.head_dim < problem.head_dim ||
      kernel.pairs != (problem.pairs != nullptr)) {
    throw InvalidParameter("kernel", "head dim " + std::to_string(kernel.head_dim),
                           "the problem's dtype, its head_dim or more, and pairs if it has them");
  }
  if (schedule.dispatch == Dispatch::kStatic && tiles.workers > gpu.sms) {
    throw InvalidParameter("workers", std::to_string(tiles.workers),
                           "at most " + std::to_string(gpu.sms) + ", one an SM");
  }
}

/// Offsets of what a launch writes besides gradients. `counters`: turns, then the ticket.
struct Workspace {
  std::size_t counters = 0, dq = 0, lse2 = 0, delta = 0, dk_parts = 0, dv_parts = 0, bytes = 0;
  std::size_t counter_bytes = 0, dq_bytes = 0;
};

Workspace workspace_of(const Problem& problem, const KernelShape& shape, const Arguments& arguments) {
  Workspace made;
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = made.bytes;
    made.bytes += (bytes + 255) / 256 * 256;
    return at;
  };
  const std::int64_t tiles = problem.batch * problem.heads * arguments.q_tiles;
  const auto rows = static_cast<std::size_t>(tiles * shape.q_tile);
  made.counter_bytes = static_cast<std::size_t>(tiles + 1) * sizeof(unsigned);
  made.dq_bytes = rows * static_cast<std::size_t>(shape.head_dim) * sizeof(float);
  made.counters = take(made.counter_bytes);
  made.dq = take(made.dq_bytes);
  made.lse2 = take(rows * sizeof(float));
  made.delta = take(rows * sizeof(float));
  const auto parts =
      static_cast<std::size_t>(problem.batch * problem.heads * problem.kv_tokens * problem.head_dim);
  made.dk_parts = take(arguments.partial ? parts * sizeof(float) : 0);
  made.dv_parts = take(arguments.partial ? parts * sizeof(float) : 0);
  return made;
}

}  // namespace

struct Plan::Prepared {
  Arguments arguments;
  Around around;
  const Instance* instance = nullptr;
  int ctas = 0;
  bool ordered = true;
  DeviceBuffer tasks, chains, worker_begin, patterns;
  Workspace workspace;
  DeviceBuffer memory;  // of that layout, unless launches bring theirs
  unsigned* counters = nullptr;

  /// The mma.sync engine adds to zeros where there is no order; the other one stores the first part.
  [[nodiscard]] bool clears_dq() const {
    return !ordered && instance->shape.engine == AttentionEngine::kMmaSync;
  }
  void prepare_lists(const WorkList& list);
  void bind_maps(const Problem& problem, const Tensors& tensors);
  void bind_memory(const Problem& problem, const Tensors& tensors, void* memory);
  void clear_counters() const;
  void launch_kernel() const;
  void launch() const;
};

void Plan::Prepared::bind_maps(const Problem& problem, const Tensors& tensors) {
  const KernelShape& shape = instance->shape;
  if (shape.engine == AttentionEngine::kMmaSync) {
    arguments.rows = {tensors.q,
                      tensors.d_o,
                      tensors.k,
                      tensors.v,
                      row_strides(problem.q),
                      row_strides(problem.o),
                      row_strides(problem.k),
                      row_strides(problem.v)};
    return;
  }
  arguments.q = rows_map(problem, tensors.q, problem.q, problem.heads, problem.q_tokens, shape.q_tile);
  arguments.d_o = rows_map(problem, tensors.d_o, problem.o, problem.heads, problem.q_tokens, shape.q_tile);
  arguments.k = rows_map(problem, tensors.k, problem.k, problem.heads_kv, problem.kv_tokens, shape.kv_tile);
  arguments.v = rows_map(problem, tensors.v, problem.v, problem.heads_kv, problem.kv_tokens, shape.kv_tile);
}

void Plan::Prepared::prepare_lists(const WorkList& list) {
  const auto upload = [](const auto& values) {
    DeviceBuffer buffer(values.size() * sizeof values[0]);
    buffer.copy_from_host(values.data(), values.size() * sizeof values[0]);
    return buffer;
  };
  tasks = upload(list.tasks);
  chains = upload(list.chains);
  arguments.tasks = static_cast<const Task*>(tasks.data());
  arguments.chains = static_cast<const Chain*>(chains.data());
  arguments.chain_count = static_cast<std::int32_t>(list.chains.size());
  if (!list.patterns.empty()) {
    patterns = upload(list.patterns);
    arguments.patterns = static_cast<const uint2*>(patterns.data());
  }
  if (list.worker_begin.empty()) return;
  worker_begin = upload(list.worker_begin);
  arguments.worker_begin = static_cast<const std::int32_t*>(worker_begin.data());
}

void Plan::Prepared::bind_memory(const Problem& problem, const Tensors& tensors, void* memory) {
  auto* const base = static_cast<char*>(memory);
  const auto floats = [&](std::size_t at) { return reinterpret_cast<float*>(base + at); };
  counters = reinterpret_cast<unsigned*>(base + workspace.counters);
  arguments.ordered = ordered;
  arguments.turns = clears_dq() ? nullptr : counters;
  arguments.ticket = counters + problem.batch * problem.heads * arguments.q_tiles;
  arguments.dq = floats(workspace.dq);
  arguments.lse2 = floats(workspace.lse2);
  arguments.delta = floats(workspace.delta);
  arguments.dk = tensors.dk;
  arguments.dv = tensors.dv;
  arguments.dk_strides = row_strides(problem.k);
  arguments.dv_strides = row_strides(problem.v);
  const float *dk_parts = nullptr, *dv_parts = nullptr;
  if (arguments.partial) {
    dk_parts = floats(workspace.dk_parts);
    dv_parts = floats(workspace.dv_parts);
    arguments.dk = floats(workspace.dk_parts);
    arguments.dv = floats(workspace.dv_parts);
    const std::int64_t head = problem.kv_tokens * problem.head_dim;
    arguments.dk_strides = arguments.dv_strides = {problem.heads * head, head, problem.head_dim};
  }
  around = {problem,
            instance->shape,
            tensors,
            arguments.q_tiles,
            floats(workspace.lse2),
            floats(workspace.delta),
            arguments.dq,
            arguments.turns,
            counters,
            workspace.counter_bytes / sizeof(unsigned),
            dk_parts,
            dv_parts};
}

void Plan::Prepared::clear_counters() const {
  NATTEN_SIM_CUDA_CHECK(cudaMemsetAsync(counters, 0, workspace.counter_bytes, launch_stream()));
}

void Plan::Prepared::launch_kernel() const {
  if (clears_dq())
    NATTEN_SIM_CUDA_CHECK(cudaMemsetAsync(arguments.dq, 0, workspace.dq_bytes, launch_stream()));
  void* parameters[] = {const_cast<Arguments*>(&arguments)};
  // Cooperative: all CTAs run at once, on which the proof that turns come rests.
  NATTEN_SIM_CUDA_CHECK(cudaLaunchCooperativeKernel(instance->kernel, dim3(ctas), dim3(instance->threads),
                                                    parameters, instance->shared_bytes, launch_stream()));
}

void Plan::Prepared::launch() const {
  launch_preprocess(around);
  launch_kernel();
  launch_postprocess(around);
}

Plan::Plan(const GpuInfo& gpu, const Problem& problem, const KernelShape& kernel,
           const BackwardProblem& tiles, const BackwardSchedule& schedule, Turns turns,
           const Tensors& tensors, const FaultInjection& faults)
    : prepared_(std::make_unique<Prepared>()) {
  require_runnable(problem, kernel, tiles, schedule);
  Prepared& p = *prepared_;
  p.ordered = turns == Turns::kOrdered && !schedule.dq_order.empty();
  p.instance = &find_instance(kernel, !p.ordered     ? Draws::kEarly
                                      : faults.draws ? *faults.draws
                                                     : best_draws(tiles, schedule));
  require_fits(gpu, problem, *p.instance, tiles, schedule);
  p.ctas = std::min<int>(tiles.workers, gpu.sms);
  Arguments& a = p.arguments;
  a.head_dim = static_cast<int>(problem.head_dim);
  a.heads = static_cast<int>(problem.heads);
  a.heads_per_kv_head = static_cast<int>(problem.heads / problem.heads_kv);
  a.q_tiles = static_cast<int>((problem.q_tokens + kernel.q_tile - 1) / kernel.q_tile);
  a.kv_tiles = tiles.mask.kv_tiles;
  a.q_tokens = static_cast<int>(problem.q_tokens);
  a.kv_tokens = static_cast<int>(problem.kv_tokens);
  constexpr std::int64_t kNoLimit = 1 << 29;
  a.left = static_cast<int>(std::min(problem.mask.left.value_or(kNoLimit), kNoLimit));
  a.right = static_cast<int>(std::min(problem.mask.right.value_or(kNoLimit), kNoLimit));
  a.scale = static_cast<float>(problem.softmax_scale());
  a.scale_log2 = static_cast<float>(problem.softmax_scale() * 1.4426950408889634);
  a.turn_tries = faults.turn_tries;
  a.delay_ns = faults.delay_ns;
  a.dropped = faults.dropped_tile.value_or(-1);
  a.partial = problem.heads != problem.heads_kv && !is_grouped(problem, tiles);
  p.prepare_lists(work_list(problem, kernel, tiles, schedule));
  p.workspace = workspace_of(problem, kernel, a);
  p.around.problem = problem;
  p.around.problem.pairs = nullptr;  // the lists have them
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(p.instance->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             p.instance->shared_bytes));
  if (tensors.q == nullptr) return;  // launch_on() brings them
  p.memory = DeviceBuffer(p.workspace.bytes);
  p.memory.fill(0xff);  // NaN: with turns, the first addition to a tile of dQ is a store
  p.bind_maps(problem, tensors);
  p.bind_memory(p.around.problem, tensors, p.memory.data());
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::launch_kernel() const {
  prepared_->clear_counters();
  prepared_->launch_kernel();
}

void Plan::launch(DeviceBuffer* times) const {
  Prepared& p = *prepared_;
  p.arguments.times = times != nullptr ? static_cast<TurnTimes*>(times->data()) : nullptr;
  p.launch();
}

std::size_t Plan::workspace_bytes() const noexcept { return prepared_->workspace.bytes; }

void Plan::launch_on(const Tensors& tensors, void* workspace) const {
  Prepared p;
  p.arguments = prepared_->arguments;
  p.instance = prepared_->instance;
  p.ctas = prepared_->ctas;
  p.ordered = prepared_->ordered;
  p.workspace = prepared_->workspace;
  const Problem& problem = prepared_->around.problem;
  p.bind_maps(problem, tensors);
  p.bind_memory(problem, tensors, workspace);
  p.launch();
}

std::vector<KernelShape> built_kernels() {
  std::vector<KernelShape> shapes;
  for (const auto& table : {kernels_of_head_dim_64(), kernels_of_head_dim_128(), ladder_steps(),
                            mma_kernels_of_head_dim_64(), mma_kernels_of_head_dim_128()}) {
    for (const Instance& instance : table) shapes.push_back(instance.shape);
  }
  return shapes;
}

}  // namespace natten_sim::kernels::attention_backward
