// Costs that suites' recordings tell: data/kernel-times.json holds what scripts/make_kernel_times.sh fits to them.
#include <algorithm>
#include <string>
#include <vector>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/kernel_runs.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace shipped_costs_test {

using namespace natten_sim;

std::vector<KernelRun> shipped_runs(const std::string& file) {
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/data/" + file;
  return validate::read_kernel_runs(read_text("runs", path), path, {});
}

/// Launches of suites; of hopper-fmha beside the long run that others measured.
std::vector<KernelRun> hopper_runs(const std::string& kernel) {
  std::vector<KernelRun> runs;
  if (kernel == "hopper-fmha") runs = shipped_runs("kernel-runs/natten-h200.csv");
  for (const char* suite : {"-costs", "", "-128-costs", "-fmha-costs"}) {
    const std::vector<KernelRun> more = shipped_runs(std::string("recordings/nvidia-h200-hopper") + suite + ".json");
    runs.insert(runs.end(), more.begin(), more.end());
  }
  std::erase_if(runs, [&](const KernelRun& run) { return run.kernel != kernel; });
  return runs;
}

/// Each kernel's are fitted by themselves.
std::vector<KernelCosts> hopper_costs(const study::Context& context) {
  std::vector<KernelCosts> entries;
  for (const char* kernel : {"hopper-fna", "hopper-fmha"}) {
    const std::vector<KernelCosts> of_kernel =
        study::calibrate({.runs = hopper_runs(kernel), .suggestions = 0}, context).entries;
    entries.insert(entries.end(), of_kernel.begin(), of_kernel.end());
  }
  return entries;
}

TEST_CASE("an H200's costs of NATTEN's Hopper kernels are those that the shipped recordings give") {
  const study::Context context = study::default_context();
  const std::vector<KernelCosts> entries = hopper_costs(context);
  CHECK(entries.size() == 6);  // at head dims 32, 64 and 128
  for (const KernelCosts& fitted : entries) {
    INFO(fitted.kernel << " at head dim " << fitted.head_dim);
    const KernelCosts* shipped = context.catalog.costs_of(fitted.kernel, fitted.device, fitted.head_dim, fitted.dtypes[0]);
    REQUIRE(shipped != nullptr);
    CHECK(fitted.passes.size() == 2);
    for (const PassCosts& pass : fitted.passes) {
      const PassCosts& stored = *shipped->costs_of(pass.pass);
      CHECK(stored.unmasked_tile_us == Approx(pass.unmasked_tile_us).epsilon(1e-3));
      CHECK(stored.cta_us == Approx(pass.cta_us).epsilon(1e-3));
      CHECK(stored.launch_us == Approx(pass.launch_us).epsilon(1e-3));
      CHECK(stored.slowdown == Approx(pass.slowdown).epsilon(1e-3));
      CHECK(stored.spared_slowdown == Approx(pass.spared_slowdown).epsilon(1e-3));
      CHECK(stored.ctas_per_sm == pass.ctas_per_sm);
      CHECK(stored.evidence.runs == pass.evidence.runs);
      for (std::size_t axes = 0; axes < 3; ++axes)
        CHECK(stored.masked_tile_us[axes] == Approx(pass.masked_tile_us[axes]).epsilon(1e-3));
    }
  }
}

TEST_CASE("FlashAttention-2's costs forward are those of long launches and of few Q tiles, but for its slow-down") {
  std::vector<KernelRun> runs = shipped_runs("dense-runs/h200.csv");
  const std::vector<KernelRun> splits = shipped_runs("recordings/nvidia-h200-fa2-splits.json");
  runs.insert(runs.end(), splits.begin(), splits.end());
  std::erase_if(runs, [](const KernelRun& run) {
    return run.kernel != "fa2" || run.pass != Walk::kForward || (run.head_dim != 64 && run.head_dim != 128);
  });
  const study::Context context = study::default_context();
  const std::vector<KernelCosts> entries = study::calibrate({.runs = runs, .suggestions = 0}, context).entries;
  CHECK(entries.size() == 2);
  for (const KernelCosts& fitted : entries) {
    INFO("head dim " << fitted.head_dim);
    const PassCosts& pass = fitted.passes.at(0);
    const PassCosts& stored = *context.catalog.costs_of("fa2", "h200", fitted.head_dim, Dtype::kBf16)->costs_of(Walk::kForward);
    CHECK(stored.unmasked_tile_us == Approx(pass.unmasked_tile_us).epsilon(1e-3));
    CHECK(stored.cta_us == Approx(pass.cta_us).epsilon(1e-3));
    CHECK(stored.launch_us == Approx(pass.launch_us).epsilon(1e-3));
    CHECK(stored.masked_tile_us[0] == Approx(pass.masked_tile_us[0]).epsilon(1e-3));
    CHECK(stored.evidence.runs == pass.evidence.runs);
    CHECK(stored.slowdown < 0.05);  // told by launches in a row
  }
}

/// What power adds to long backward passes of cuDNN at head dim 96, fitted beside launches of these kernels.
double slowdown_of_cudnn(const std::vector<std::string>& kernels, const study::Context& context) {
  std::vector<KernelRun> runs = shipped_runs("recordings/nvidia-h200-head-dims-costs.json");
  std::erase_if(runs, [&](const KernelRun& run) {
    return run.head_dim != 96 || run.pass != Walk::kBackward || std::ranges::find(kernels, run.kernel) == kernels.end();
  });
  for (const study::CalibratedPass& pass : study::calibrate({.runs = runs, .suggestions = 0}, context).passes) {
    if (pass.kernel == "fa2") CHECK(pass.costs.slowdown < 0.01);
    if (pass.kernel == "cudnn") return pass.costs.slowdown;
  }
  return 0;
}

TEST_CASE("a kernel that power slows as little as expected lets expect no less of another") {
  const study::Context context = study::default_context();
  const double alone = slowdown_of_cudnn({"cudnn"}, context), beside = slowdown_of_cudnn({"fa2", "cudnn"}, context);
  CHECK(alone > 0.05);
  CHECK(beside == Approx(alone).epsilon(0.1));
}

}  // namespace shipped_costs_test
