// Checks attention forward against its oracles and times variants of it side by side.
//
//   attention_forward_bench check             whole outputs against the oracles, poisons, guards, repeats
//   attention_forward_bench ladder [TOKENS]   steps of the version ladder: bf16, head dimension 128, 16 heads
//   attention_forward_bench engines [TOKENS]  the mma.sync engine and this one behind their interface
//   attention_forward_bench once [causal]     each of those once, for a profiler
//   attention_forward_bench sizes [HEAD_DIM]  lengths 512 to 65536, full and causal
//   attention_forward_bench variants [HEAD_DIM [TOKENS]]  every kernel, with tickets and without
//   attention_forward_bench choices [HEAD_DIM]  kernels without maxima, lengths 1024 to 65536
//   attention_forward_bench step [HEADS [TOKENS [HEAD_DIM [CSV]]]]  whether CTAs keep step in a long launch
//   attention_forward_bench neighborhoods [NAME [all|best [HEAD_DIM]]]  published video and image problems
//
// Times are medians over repetitions in which the variants take turns on three input sets, the L2 flushed
// before each launch. Exit 77 without an sm_90 GPU, 1 if a check fails.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "check.hpp"
#include "step.hpp"
#include "timing.hpp"

int main(int argc, char** argv) {
  using namespace natten_sim::bench;
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    const natten_sim::kernels::GpuInfo gpu = natten_sim::kernels::open_gpu();
    if (what == "check") return run_checks(gpu, argc > 2 ? argv[2] : "") ? 0 : 1;
    if (what == "ladder") return time_ladder(gpu, argc > 2 ? std::atol(argv[2]) : 16384), 0;
    if (what == "engines") return time_engines(gpu, argc > 2 ? std::atol(argv[2]) : 16384), 0;
    if (what == "once")
      return launch_ladder_once(gpu, 16384, argc > 2 && std::strcmp(argv[2], "causal") == 0), 0;
    if (what == "sizes") return time_sizes(gpu, argc > 2 ? std::atol(argv[2]) : 128), 0;
    if (what == "variants") {
      return time_variants(gpu, argc > 2 ? std::atol(argv[2]) : 128, argc > 3 ? std::atol(argv[3]) : 16384), 0;
    }
    if (what == "choices") return time_choices(gpu, argc > 2 ? std::atol(argv[2]) : 128), 0;
    if (what == "step") {
      return time_step(gpu, argc > 2 ? std::atol(argv[2]) : 24, argc > 3 ? std::atol(argv[3]) : 115200,
                       argc > 4 ? std::atol(argv[4]) : 128, argc > 5 ? argv[5] : ""),
             0;
    }
    if (what == "neighborhoods")
      return time_neighborhoods(gpu, argc > 2 ? argv[2] : "", argc > 3 && std::strcmp(argv[3], "all") == 0,
                                argc > 4 ? std::atol(argv[4]) : 128),
             0;
  } catch (const natten_sim::HardwareAbsent& absent) {
    std::fprintf(stderr, "skipped: %s\n", absent.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_forward_bench: %s\n", error.what());
    return 1;
  }
  std::fprintf(
      stderr,
      "usage: attention_forward_bench check|ladder|engines|once|sizes|variants|choices|step|neighborhoods\n");
  return 2;
}
