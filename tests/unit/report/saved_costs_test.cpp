// What `calibrate --save` writes, `--costs` reads: whatever was measured, and however badly it fits. The shipped file
// is what it writes of the shipped runs.
#include <algorithm>
#include <cmath>
#include <random>

#include <natten_sim/io/files.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/report/kernel_times_report.hpp>
#include <natten_sim/study/calibrate.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace saved_costs_test {

using namespace natten_sim;

KernelRun dense_run(const char* kernel, std::int64_t tokens, double ms) {
  KernelRun run{.kernel = kernel, .device = "h100"};
  run.input = run.window = {tokens};
  run.q_tile = run.kv_tile = {128};
  run.heads = 8;
  run.ms = ms;
  return run;
}

/// The entries, written, read and written again.
void check_round_trip(const std::vector<KernelCosts>& entries) {
  const std::string written = report::kernel_times_file(entries).dump();
  INFO(written);
  Catalog read;
  add_kernel_times(read, written, "costs.json");
  CHECK(report::kernel_times_file(read.kernel_costs).dump() == written);
}

TEST_CASE("costs whose interval is above their times are read as they were saved") {
  const study::Context context = study::default_context();
  study::CalibrateQuestion question;
  question.source = "made up";
  question.suggestions = 0;
  question.runs = {dense_run("cudnn", 2048, 0.1), dense_run("cudnn", 4096, 40), dense_run("cudnn", 8192, 2)};
  const study::CalibrateAnswer answer = study::calibrate(question, context);
  REQUIRE(answer.entries.front().passes.front().evidence.interval > 1);
  check_round_trip(answer.entries);
}

TEST_CASE("random runs: what calibrate saves is read, and means the same") {
  constexpr std::uint32_t seed = 39;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); };
  const study::Context context = study::default_context();
  const char* kernels[] = {"cudnn", "fa2", "flexattention", "hopper-fna", "cutlass-fna"};
  const char* devices[] = {"h100", "h200", "a100", "gb10"};
  for (int sample = 0; sample < 8; ++sample) {
    study::CalibrateQuestion question;
    question.source = "made up";
    question.suggestions = 0;
    const char* kernel = kernels[below(5)];
    const char* device = devices[below(4)];
    const Walk pass = below(2) == 0 ? Walk::kForward : Walk::kBackward;
    for (std::int64_t i = 0, runs = 1 + below(3); i < runs; ++i) {
      KernelRun run = dense_run(kernel, 128 * (1 + below(64)), std::pow(10.0, static_cast<double>(below(12)) - 4));
      run.device = device;
      run.pass = pass;
      run.window = {2 + below(run.input[0] - 1)};
      if (below(2) == 0) run.rest_ms = static_cast<double>(1 + below(100));
      if (below(3) == 0) run.perm_q_ms = std::pow(10.0, static_cast<double>(below(12)) - 6);
      question.runs.push_back(run);
    }
    check_round_trip(study::calibrate(question, context).entries);
  }
}

/// The runs of one device are fitted together.
std::vector<KernelRun> shipped_runs_on(const std::string& device) {
  std::vector<KernelRun> runs;
  for (const char* file : {"natten-h200.csv", "natten-h100.csv", "natten-published.csv"}) {
    const std::string path = std::string(test::kSourceDir) + "/data/kernel-runs/" + file;
    for (const KernelRun& run : parse_kernel_runs(read_text("runs", path), file, {})) {
      if (run.device == device) runs.push_back(run);
    }
  }
  return runs;
}

/// What a fit says, and the error of launches that were predicted before they were measured, where that is larger.
CostEvidence with_judged(CostEvidence evidence, const CostEvidence& shipped) {
  evidence.judged = shipped.judged;
  if (shipped.judged) evidence.interval = std::max(evidence.interval, shipped.judged->error);
  return evidence;
}

void check_shipped(KernelCosts fitted, const study::Context& context) {
  const KernelCosts* found = context.catalog.costs_of(fitted.kernel, fitted.device, fitted.head_dim, fitted.dtypes[0]);
  REQUIRE(found != nullptr);
  KernelCosts only = *found;  // without passes that other runs tell
  std::erase_if(only.passes, [&](const PassCosts& pass) { return fitted.costs_of(pass.pass) == nullptr; });
  const KernelCosts* shipped = &only;
  for (PassCosts& pass : fitted.passes) {
    const CostEvidence& of_shipped = shipped->costs_of(pass.pass)->evidence;
    pass.evidence.source = of_shipped.source;
    pass.evidence = with_judged(pass.evidence, of_shipped);
  }
  for (std::size_t i = 0; i < fitted.permutation.size(); ++i)
    fitted.permutation[i].source = shipped->permutation.at(i).source;
  CHECK(report::kernel_times_file({fitted}).dump() == report::kernel_times_file({*shipped}).dump());
}

TEST_CASE("shipped costs are those that the shipped runs give") {
  const study::Context context = study::default_context();
  for (const char* device : {"h200", "h100", "b200"}) {
    for (const KernelCosts& fitted : study::calibrate({.runs = shipped_runs_on(device)}, context).entries) {
      // Suites tell an H200's Hopper kernels (validate's shipped_costs_test).
      const bool of_suites = fitted.kernel.starts_with("hopper-") && fitted.device == "h200";
      if (!of_suites) check_shipped(fitted, context);
    }
  }
}

}  // namespace saved_costs_test
