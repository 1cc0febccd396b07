// The GPU half of this room in a build without CUDA: every call says so.
#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/latency/tile_times.hpp>
#include <natten_sim/kernels/msda/msda.hpp>
#include <natten_sim/kernels/partitions/launch_order.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>
#include <natten_sim/kernels/stream/stream.hpp>

namespace natten_sim::kernels {
namespace {

[[noreturn]] void refuse() {
  throw HardwareAbsent("a CUDA GPU", "this natten-sim was built without CUDA (configure with nvcc on PATH)");
}

}  // namespace

bool built_with_cuda() noexcept { return false; }
GpuInfo open_gpu(int) { refuse(); }
void synchronize() { refuse(); }
DeviceBuffer::DeviceBuffer(std::size_t) { refuse(); }
void DeviceBuffer::fill(std::uint8_t) { refuse(); }
void DeviceBuffer::copy_from_host(const void*, std::size_t, std::size_t) { refuse(); }
void DeviceBuffer::copy_to_host(void*, std::size_t, std::size_t) const { refuse(); }
void DeviceBuffer::copy_from_device(const DeviceBuffer&) { refuse(); }
std::vector<float> time_with_events(const std::function<void()>&, int, const std::function<void()>&) {
  refuse();
}
L2Flusher::L2Flusher(const GpuInfo&) { refuse(); }
void L2Flusher::start() { refuse(); }
void L2Flusher::flush() { refuse(); }
void fill_random(DeviceBuffer&, std::int64_t, Dtype, std::uint64_t) { refuse(); }
void launch_stream(const StreamProblem&, const DeviceBuffer&, DeviceBuffer&, const DeviceBuffer*) {
  refuse();
}
SmPartitions sm_partitions(const GpuInfo&) { refuse(); }
TileTimes tile_times(const GpuInfo&) { refuse(); }
std::vector<std::int32_t> sms_of_launch(const GpuInfo&, std::int32_t, std::int32_t, std::int32_t) { refuse(); }
AttentionBuffers random_attention_buffers(const AttentionProblem&, std::uint64_t) { refuse(); }
AttentionLaunch prepare_attention(const GpuInfo&, const AttentionProblem&, const AttentionVariant&,
                                  const AttentionBuffers&, bool) {
  refuse();
}
void launch_attention(const GpuInfo&, const AttentionProblem&, const AttentionVariant&,
                      const AttentionBuffers&, DeviceBuffer*) {
  refuse();
}

namespace scatter_add {
std::size_t scratch_bytes(const Problem&) { refuse(); }
Buffers make_buffers(const Problem&, const std::vector<std::int64_t>&, std::uint64_t) { refuse(); }
void launch(const GpuInfo&, const Problem&, const Buffers&, std::size_t) { refuse(); }
}  // namespace scatter_add

namespace msda {
void launch(const GpuInfo&, const Problem&, MsdaPhase, const Tensors&) { refuse(); }
void narrow(Dtype, const DeviceBuffer&, DeviceBuffer&, std::int64_t) { refuse(); }
}  // namespace msda

}  // namespace natten_sim::kernels
