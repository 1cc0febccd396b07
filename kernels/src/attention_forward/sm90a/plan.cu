// Items and grid of a launch.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include "attention_forward/best_shape.hpp"
#include "attention_forward/prepared.hpp"
#include "attention_forward/work.cuh"
#include "gpu/launch_stream.cuh"

namespace natten_sim::kernels::attention_forward {
namespace {

const Instance& find_instance(const KernelShape& shape) {
  for (const auto& table :
       {sequences_head_dim_64(), sequences_head_dim_96(), sequences_head_dim_128(), sequences_head_dim_160(),
        sequences_head_dim_192(), sequences_head_dim_256(), neighborhoods(), ladder_steps()}) {
    for (const Instance& instance : table) {
      if (instance.shape == shape) return instance;
    }
  }
  throw InvalidParameter("kernel",
                         std::to_string(shape.q_tile) + "x" + std::to_string(shape.kv_tile) + ", head dim " +
                             std::to_string(shape.head_dim),
                         "one of built_kernels()");
}

void launch_kernel(const Instance& instance, int ctas, Arguments& taken) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(static_cast<unsigned>(instance.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(instance.shared_bytes);
  config.stream = launch_stream();
  void* arguments[] = {&taken};
  NATTEN_SIM_CUDA_CHECK(cudaLaunchKernelExC(&config, instance.kernel, arguments));
}

}  // namespace

void Plan::Prepared::prepare_items(const GpuInfo& gpu, const Schedule& schedule) {
  const std::int64_t items = static_cast<std::int64_t>(arguments.q_tiles) * problem.heads * problem.batch;
  if (items > std::numeric_limits<int>::max() / 2) {
    throw InvalidParameter("items", std::to_string(items), "fewer than 2^30 Q tiles in all");
  }
  if (schedule.ctas < 0 || schedule.ctas > gpu.sms) {
    throw InvalidParameter("ctas", std::to_string(schedule.ctas), "0 to " + std::to_string(gpu.sms));
  }
  if (schedule.heads_a_section < 1) {
    throw InvalidParameter("heads_a_section", std::to_string(schedule.heads_a_section), "1 or more");
  }
  const int resident = schedule.ctas == 0 ? gpu.sms : schedule.ctas;
  arguments.items = static_cast<int>(items);
  arguments.section =
      static_cast<int>(std::min<std::int64_t>(schedule.heads_a_section, problem.heads * problem.batch));
  arguments.last_q_tile_first = schedule.last_q_tile_first;
  arguments.walk = static_cast<int>(schedule.walk);
  arguments.items_a_wave = resident;
  const bool grid = schedule.dispatch == Dispatch::kGrid;
  ctas = grid ? arguments.items : std::min(arguments.items, resident);
  arguments.whole_items = arguments.items;
  constexpr std::int64_t kMostToSplit = 1 << 22;  // items beyond which a round is nothing
  if (schedule.split_tail) {
    if (schedule.dispatch != Dispatch::kStatic || !can_split(instance->shape)) {
      throw InvalidParameter(
          "split_tail", to_string(schedule.dispatch),
          "static dispatch of a sequence, head_dim at most 192 (128 where items are joined)");
    }
    if (items <= kMostToSplit) {
      const SplitTail tail = split_tail(tiles_of_items(), ctas);
      if (!tail.parts.empty()) prepare_parts(tail);
    }
  }
  has_ticket = schedule.dispatch == Dispatch::kTicket;
  lay_out_workspace();
}

static_assert(static_cast<int>(KvOrder::kCyclic) == 0 && static_cast<int>(KvOrder::kSawtooth) == 1 &&
              static_cast<int>(KvOrder::kDescending) == 2);

Plan::Plan(const GpuInfo& gpu, const Problem& problem, const KernelShape& kernel, const Schedule& schedule,
           const Tensors& tensors)
    : prepared_(std::make_unique<Prepared>()) {
  require_valid(problem);
  if (gpu.compute_major != 9 || gpu.compute_minor != 0) {
    throw HardwareAbsent("an sm_90 GPU",
                         gpu.name + " is sm_" + std::to_string(gpu.compute_major * 10 + gpu.compute_minor));
  }
  const bool neighborhood = std::holds_alternative<Neighborhood>(problem.mask);
  if (kernel.neighborhood != neighborhood || kernel.dtype != problem.dtype ||
      kernel.head_dim != problem.head_dim) {
    throw InvalidParameter("kernel", std::to_string(kernel.head_dim),
                           "the problem's head_dim, dtype and kind of mask");
  }
  Prepared& p = *prepared_;
  p.instance = &find_instance(kernel);
  p.problem = problem;
  p.arguments.scale_log2 = static_cast<float>(problem.softmax_scale() * 1.4426950408889634);
  p.arguments.heads = static_cast<int>(problem.heads);
  p.arguments.heads_per_kv_head = static_cast<int>(problem.heads / problem.heads_kv);
  p.arguments.batch = static_cast<int>(problem.batch);
  p.arguments.q_tokens = static_cast<int>(problem.q_tokens);
  p.arguments.kv_tokens = static_cast<int>(problem.kv_tokens);
  if (neighborhood) {
    p.prepare_box();
  } else {
    p.prepare_band();
  }
  p.prepare_items(gpu, schedule);
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(p.instance->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             p.instance->shared_bytes));
  if (tensors.q == nullptr) return;  // launch_on() brings them
  p.own_memory = DeviceBuffer(p.workspace.bytes);
  p.own_memory.fill(0);
  p.bind(p.arguments, tensors, p.own_memory.data());
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::launch(DeviceBuffer* intervals) const {
  const Prepared& p = *prepared_;
  Arguments taken = p.arguments;
  if (intervals != nullptr) {
    if (taken.parts != nullptr) throw InvalidParameter("intervals", "split items", "whole items");
    const std::size_t needed = static_cast<std::size_t>(taken.items) * sizeof(ItemInterval);
    if (intervals->bytes() < needed)
      throw InvalidParameter("intervals", std::to_string(intervals->bytes()),
                             std::to_string(needed) + " bytes");
    taken.intervals = static_cast<ItemInterval*>(intervals->data());
  }
  launch_kernel(*p.instance, p.ctas, taken);
}

std::size_t Plan::workspace_bytes() const noexcept { return prepared_->workspace.bytes; }

void Plan::launch_on(const Tensors& tensors, void* workspace) const {
  const Prepared& p = *prepared_;
  Arguments taken = p.arguments;
  NATTEN_SIM_CUDA_CHECK(cudaMemsetAsync(workspace, 0, p.workspace.counters, launch_stream()));
  p.bind(taken, tensors, workspace);
  launch_kernel(*p.instance, p.ctas, taken);
}

std::vector<KernelShape> built_kernels() {
  std::vector<KernelShape> shapes;
  for (const auto& table :
       {sequences_head_dim_64(), sequences_head_dim_96(), sequences_head_dim_128(), sequences_head_dim_160(),
        sequences_head_dim_192(), sequences_head_dim_256(), neighborhoods(), ladder_steps()}) {
    for (const Instance& instance : table) shapes.push_back(instance.shape);
  }
  return shapes;
}

}  // namespace natten_sim::kernels::attention_forward
