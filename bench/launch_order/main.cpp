// Which SM, and which partition of the L2, the CTAs of a launch get. Writes natten-sim.launch-order/1 to
// standard output: what data/launch-order holds. Takes a second.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/partitions/launch_order.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>

namespace {

using namespace natten_sim::kernels;

constexpr std::int32_t kKib = 1024;

/// CTAs of this much shared memory and so many threads; `per_sm` of them fit an SM of 228 KiB.
struct Shape {
  std::int32_t shared_kib, threads, per_sm;
};

constexpr Shape kShapes[] = {{200, 128, 1}, {200, 384, 1}, {100, 128, 2},
                             {100, 256, 2}, {70, 128, 3},  {48, 128, 4}};

std::vector<std::int32_t> launch_sizes(const GpuInfo& gpu, const Shape& shape) {
  if (shape.per_sm > 1) return {2 * shape.per_sm * gpu.sms};
  return {1, 2, 4, 8, 12, 16, 20, 24, gpu.sms / 4, gpu.sms / 2, 3 * gpu.sms / 4, gpu.sms, 2 * gpu.sms};
}

void print_launch(const GpuInfo& gpu, const Shape& shape, std::int32_t ctas, bool first) {
  std::printf("%s\n    {\"ctas\":%d,\"threads\":%d,\"shared_kib\":%d,\"sm\":[", first ? "" : ",", ctas,
              shape.threads, shape.shared_kib);
  const char* comma = "";
  for (const std::int32_t sm : sms_of_launch(gpu, ctas, shape.threads, shape.shared_kib * kKib)) {
    std::printf("%s%d", comma, sm);
    comma = ",";
  }
  std::printf("]}");
}

void print_all() {
  const GpuInfo gpu = open_gpu();
  std::string partitions;
  for (const std::int32_t partition : sm_partitions(gpu).partition) partitions += std::to_string(partition);
  std::printf("{\n  \"schema\": \"natten-sim.launch-order/1\",\n  \"device\": \"%s\",\n  \"sms\": %d,\n",
              gpu.name.c_str(), gpu.sms);
  std::printf("  \"partition_of_sm\": \"%s\",\n  \"launches\": [", partitions.c_str());
  bool first = true;
  for (const Shape& shape : kShapes) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (const std::int32_t ctas : launch_sizes(gpu, shape)) {
        print_launch(gpu, shape, ctas, first);
        first = false;
      }
    }
  }
  std::printf("\n  ]\n}\n");
}

}  // namespace

int main() {
  try {
    print_all();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launch_order: %s\n", error.what());
    return 1;
  }
}
