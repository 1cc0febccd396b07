// Checks attention backward against its oracles and times schedules side by side.
//
//   attention_backward_bench check [FILTER [FOLDER]]   whole gradients against the oracles; dumps of failures
//   attention_backward_bench tables                    the host half of these checks, without a GPU
//   attention_backward_bench random [COUNT [ENGINE]]   random tables that finish
//   attention_backward_bench dropped [ENGINE]          a turn that is never passed on: must trap (exit 0)
//   attention_backward_bench orders [TOKENS [HEAD_DIM [REST_MS [TABLE...]]]]   schedules, with turns and not
//   attention_backward_bench ladder [TOKENS [HEAD_DIM [REST_MS]]]   the version ladder, both engines
//   attention_backward_bench once [TOKENS]             each of these once, for a profiler
//   attention_backward_bench reductions                bulk additions and turns, without attention
//   attention_backward_bench stages HOW                a stage of shared memory by itself, for racecheck
//   attention_backward_bench groups [TOKENS [HEAD_DIM]]  GQA, chains of a head and of a group
//   attention_backward_bench record TOKENS FOLDER [HEADS [WORKERS]]   tables and times of every task
//
// An engine is wgmma (sm_90) or mma.sync (sm_80 and later); none: the faster one that runs. `check mma.sync`
// checks that one alone. Times are medians over repetitions in which variants take turns, the L2 flushed
// before each launch. Exit 77 without a GPU that runs it, 1 if a check fails.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>

#include "check.hpp"
#include "tensors.hpp"
#include "timing.hpp"

int main(int argc, char** argv) {
  using namespace natten_sim::bench;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
  const auto number = [&](std::size_t i, long otherwise) {
    return word(i).empty() ? otherwise : std::atol(word(i).c_str());
  };
  const std::string what = word(0);
  try {
    if (what == "tables") return run_host_halves() ? 0 : 1;
    const natten_sim::kernels::GpuInfo gpu = natten_sim::kernels::open_gpu();
    if (what == "check") return run_checks(gpu, word(1), word(2)) ? 0 : 1;
    const auto engine_of = [&](const std::string& name) {
      return name.empty() ? best_engine(gpu)
                          : natten_sim::parse_name<natten_sim::kernels::AttentionEngine>(name);
    };
    if (what == "random")
      return run_random_tables(gpu, static_cast<int>(number(1, 1000)), engine_of(word(2))) ? 0 : 1;
    if (what == "once") return launch_once(gpu, number(1, 16384)), 0;
    if (what == "dropped") {
      try {
        run_dropped_release(gpu, engine_of(word(1)));
      } catch (const natten_sim::kernels::CudaError& error) {
        std::printf("ok   a turn that is not passed on traps: %s\n", error.what());
        return 0;
      }
      std::printf("FAIL a turn that is not passed on went unnoticed\n");
      return 1;
    }
    if (what == "orders") {
      const std::vector<std::string> tables(
          words.begin() + static_cast<long>(words.size() < 4 ? words.size() : 4), words.end());
      return time_orders(gpu, number(1, 16384), number(2, 128), static_cast<int>(number(3, 0)), tables), 0;
    }
    if (what == "ladder")
      return time_ladder(gpu, number(1, 16384), number(2, 128), static_cast<int>(number(3, 0))), 0;
    if (what == "stages") return run_stages(static_cast<int>(number(1, 0))) ? 0 : 1;
    if (what == "reductions") return time_reductions(gpu), 0;
    if (what == "groups") return time_groups(gpu, number(1, 16384), number(2, 128)), 0;
    if (what == "record") {
      return record_turns(gpu, number(1, 16384), word(2), number(3, 16),
                          static_cast<std::int32_t>(number(4, gpu.sms))),
             0;
    }
  } catch (const natten_sim::HardwareAbsent& absent) {
    std::fprintf(stderr, "skipped: %s\n", absent.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_backward_bench: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr,
               "usage: attention_backward_bench "
               "check|tables|random|dropped|orders|ladder|groups|once|reductions|stages|record\n");
  return 2;
}
