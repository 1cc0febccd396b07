// Scatter-add and multi-scale deformable attention.
#include <natten_sim/kernels/gpu/stream_scope.hpp>
#include <natten_sim/kernels/msda/msda.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

#include "failure.hpp"
#include "operators.h"

namespace {

using namespace natten_sim;
using namespace natten_sim::operators;
namespace scatter = kernels::scatter_add;
namespace msda = kernels::msda;

Dtype type_of(std::int32_t number) {
  switch (number) {
    case 0:
      return Dtype::kFp32;
    case 1:
      return Dtype::kFp16;
    case 2:
      return Dtype::kBf16;
    default:
      throw InvalidParameter("dtype", std::to_string(number), "fp32, fp16 or bf16");
  }
}

scatter::Problem scatter_problem(const natten_sim_scatter& given) {
  scatter::Problem problem;
  problem.updates = given.updates;
  problem.rows = given.rows;
  problem.width = given.width;
  problem.dtype = type_of(given.type);
  problem.path = parse_name<scatter::Path>(given.path, "path");
  scatter::require_valid(problem);
  return problem;
}

msda::Problem msda_problem(const natten_sim_msda& given) {
  msda::Problem problem;
  problem.batch = given.batch;
  problem.queries = given.queries;
  problem.heads = given.heads;
  problem.head_channels = given.head_channels;
  problem.points = given.points;
  problem.dtype = type_of(given.type);
  problem.parameters = type_of(given.parameters);
  problem.path = parse_name<scatter::Path>(given.path, "path");
  std::int64_t first = 0;
  for (std::int64_t level = 0; level < given.levels; ++level) {
    problem.levels.push_back({given.sizes[2 * level], given.sizes[2 * level + 1], first});
    first += problem.levels.back().pixels();
  }
  msda::require_valid(problem);
  return problem;
}

kernels::DeviceBuffer view(const void* memory, std::size_t bytes) {
  return kernels::DeviceBuffer::view(const_cast<void*>(memory), bytes);
}

}  // namespace

int64_t natten_sim_ops_scatter_workspace(const natten_sim_scatter* problem) {
  return guarded<int64_t>(
      -1, [&] { return static_cast<int64_t>(scatter::scratch_bytes(scatter_problem(*problem))); });
}

int natten_sim_ops_scatter(int device, const natten_sim_scatter* given, const void* values,
                           const int64_t* index, void* destination, void* workspace, void* stream) {
  return guarded(1, [&] {
    const kernels::GpuInfo& gpu = opened(device);
    const scatter::Problem problem = scatter_problem(*given);
    const auto row_bytes = static_cast<std::size_t>(problem.width * element_bytes(problem.dtype));
    const auto updates = static_cast<std::size_t>(problem.updates);
    const scatter::Buffers buffers = {view(values, updates * row_bytes), view(index, updates * sizeof(int64_t)),
                                      view(destination, static_cast<std::size_t>(problem.rows) * row_bytes),
                                      view(workspace, scatter::scratch_bytes(problem))};
    const kernels::StreamScope scope(stream);
    scatter::launch(gpu, problem, buffers);
    return 0;
  });
}

int64_t natten_sim_ops_msda_workspace(const natten_sim_msda* problem, int backward) {
  return guarded<int64_t>(-1, [&] {
    const MsdaPhase phase = backward != 0 ? MsdaPhase::kBackward : MsdaPhase::kForward;
    return static_cast<int64_t>(msda::scratch_bytes(msda_problem(*problem), phase));
  });
}

int natten_sim_ops_msda(int device, const natten_sim_msda* given, const natten_sim_msda_tensors* t,
                        void* workspace, void* stream) {
  return guarded(1, [&] {
    const kernels::GpuInfo& gpu = opened(device);
    msda::Tensors tensors;
    tensors.values = t->values;
    tensors.locations = t->locations;
    tensors.weights = t->weights;
    tensors.output = t->output;
    tensors.output_gradient = t->output_gradient;
    tensors.value_gradient = t->value_gradient;
    tensors.location_gradient = t->location_gradient;
    tensors.weight_gradient = t->weight_gradient;
    tensors.scratch = workspace;
    const kernels::StreamScope scope(stream);
    msda::launch(gpu, msda_problem(*given),
                 t->output_gradient != nullptr ? MsdaPhase::kBackward : MsdaPhase::kForward, tensors);
    return 0;
  });
}
