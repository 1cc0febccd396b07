// A file in a folder sm90a/ is compiled for sm_90a alone: its instructions run there, beside kernels for all.
#include <natten_sim/kernels/gpu/gpu.hpp>

#include "catch.hpp"
#include "gpu/sm90a/warpgroup.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels;

TEST_CASE("instructions of sm_90a alone run on sm_90") {
  const GpuInfo gpu = open_gpu();
  if (gpu.compute_major != 9) {
    WARN("skipped: needs sm_90, this is sm_" << gpu.compute_major << gpu.compute_minor);
    return;
  }
  DeviceBuffer buffer(sizeof(int));
  buffer.fill(0);
  launch_warpgroup(static_cast<int*>(buffer.data()));
  synchronize();
  int found = 0;
  buffer.copy_to_host(&found, sizeof found);
  CHECK(found == 90);
}

}  // namespace
