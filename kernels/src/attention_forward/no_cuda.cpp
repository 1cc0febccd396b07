// Stands in for plan.cu and oracle_gpu.cu in a build without CUDA.
#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::kernels::attention_forward {
namespace {

[[noreturn]] void absent() { throw HardwareAbsent("CUDA", "this build has no CUDA kernels"); }

}  // namespace

struct Plan::Prepared {};
Plan::Plan(const GpuInfo& /*gpu*/, const Problem& /*problem*/, const KernelShape& /*kernel*/,
           const Schedule& /*schedule*/, const Tensors& /*tensors*/) {
  absent();
}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
void Plan::launch(DeviceBuffer* /*intervals*/) const { absent(); }
void Plan::launch_on(const Tensors& /*tensors*/, void* /*workspace*/) const { absent(); }
std::size_t Plan::workspace_bytes() const noexcept { return 0; }

std::vector<KernelShape> built_kernels() { return {}; }

Reference reference_on_gpu(const Problem& /*problem*/, const Tensors& /*tensors*/) { absent(); }
Deviation deviation(const Problem& /*problem*/, const Tensors& /*tensors*/, const Reference& /*reference*/) {
  absent();
}

}  // namespace natten_sim::kernels::attention_forward
