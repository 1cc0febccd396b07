// Stands in for plan.cu and oracle_gpu.cu in a build without CUDA.
#include <natten_sim/kernels/attention_backward/oracle.hpp>

namespace natten_sim::kernels::attention_backward {
namespace {

[[noreturn]] void no_backward() { throw HardwareAbsent("CUDA", "this build has no CUDA kernels"); }

}  // namespace

struct Plan::Prepared {};
Plan::Plan(const GpuInfo& /*gpu*/, const Problem& problem, const KernelShape& kernel,
           const BackwardProblem& tiles, const BackwardSchedule& schedule, Turns /*turns*/,
           const Tensors& /*tensors*/, const FaultInjection& /*faults*/) {
  require_runnable(problem, kernel, tiles, schedule);
  no_backward();
}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
void Plan::launch(DeviceBuffer* /*times*/) const { no_backward(); }
void Plan::launch_kernel() const { no_backward(); }
void Plan::launch_on(const Tensors& /*tensors*/, void* /*workspace*/) const { no_backward(); }
std::size_t Plan::workspace_bytes() const noexcept { return 0; }

std::vector<KernelShape> built_kernels() { return {}; }

Reference reference_on_gpu(const Problem& /*problem*/, const Tensors& /*tensors*/) { no_backward(); }
void write_forward(const Problem& /*problem*/, const Tensors& /*inputs*/, void* /*o*/, float* /*lse*/) {
  no_backward();
}
Deviation deviation(const Problem& /*problem*/, const Tensors& /*tensors*/, const Reference& /*reference*/) {
  no_backward();
}

}  // namespace natten_sim::kernels::attention_backward
