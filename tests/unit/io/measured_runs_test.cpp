// Tables of measured runs, and what NATTEN's profiler prints.
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/kernel_runs.hpp>

#include "catch.hpp"

namespace measured_runs_test {

using namespace natten_sim;

TEST_CASE("NATTEN's profiler tables give the times of attention kernels alone") {
  const char* text =
      "| CUTLASS | attention | Sm90 | FnaForward | 1 | 7.914ms |\n"
      "| PyTorch | elementwise | - | elementwise_kernel | 4 | 2.687ms |\n"
      "| CUTLASS | attention | Sm80 | FnaBackward | 1 | 1.445s |\n"
      "| CUTLASS | attention | Sm90 | FnaForward | 1 | 94.848us |\n";
  CHECK(profiler_times_ms(text) == std::vector<double>{7.914, 1445.0, 0.094848});
  // As NATTEN's documentation shows a dense run and its total.
  CHECK(profiler_times_ms(
            "│   cuDNN   │    attention    │ Sm90 │ sm90_flash_fprop_wgmma_f16_64x128x128_... │    1    "
            "│ 97.435ms │\n│           │                 │      │ Total │         │ 97.435ms │\n") ==
        std::vector<double>{97.435});
}

TEST_CASE("a table of runs may leave out what all runs share, and is refused where it makes no sense") {
  KernelRun defaults;
  defaults.kernel = "hopper-fna";
  const auto runs = parse_kernel_runs(
      "op,layout,window,stride,causal,q_tile,kv_tile,sched,heads,median_ms,note\n"
      "fwd,16x44x80,16x24x16,1x8x16,0x0x1,4x4x8,4x4x8,coop,32,10.1,x\n"
      "fmha,256x256,256x256,-,,128,128,pp,24,83.2,\n",
      "runs", defaults);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].input == Extents{16, 44, 80});
  CHECK(runs[0].stride == Extents{1, 8, 16});
  CHECK(runs[0].causal[2]);
  CHECK(runs[0].kernel == "hopper-fna");
  CHECK(runs[1].kernel == "fmha");
  CHECK(runs[1].stride.empty());
  CHECK(runs[1].schedule == KernelSchedule::kPingpong);
  for (const char* bad : {"input,window\n1,1\n", "input,window,q_tile,kv_tile\n4,4,2\n",
                          "input,window,q_tile,kv_tile,ms\n4,4,2,2,-1\n", "input,window,q_tile,kv_tile\n",
                          "input,window,q_tile,kv_tile,pass\n4,4,2,2,sideways\n"})
    CHECK_THROWS_AS(parse_kernel_runs(bad, "runs", {}), MalformedData);
}

}  // namespace measured_runs_test
