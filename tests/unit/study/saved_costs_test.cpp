// What `calibrate --save` writes, `--costs` reads: whatever was measured, and however badly it fits.
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/study/calibrate.hpp>

#include "catch.hpp"

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
  const std::string written = kernel_times_file(entries).dump();
  INFO(written);
  Catalog read;
  add_kernel_times(read, written, "costs.json");
  CHECK(kernel_times_file(read.kernel_costs).dump() == written);
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

}  // namespace saved_costs_test
