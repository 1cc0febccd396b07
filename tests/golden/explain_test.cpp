#include "catch.hpp"
#include "program.hpp"

namespace {

using namespace natten_sim::test;

const std::string kProfile = std::string(NATTEN_SIM_SOURCE_DIR) + "/tests/golden/ncu/attention-h200";

TEST_CASE("explain reads a profile of PyTorch's attention and names what it cannot know") {
  const Json result = result_of("explain " + kProfile + ".csv --ncu-kernel flash_fwd_kernel");
  CHECK(result["device"] == "h200");
  REQUIRE(result["kernels"].size() == 4);
  for (const Json& kernel : result["kernels"]) {
    CHECK(kernel["family"] == "fa2");
    CHECK(kernel["missing"].empty());
    const Json& read = kernel["read"];
    CHECK(read["measured_bytes"].get<double>() ==
          Approx(read["compulsory_bytes"].get<double>() + read["lockstep_bytes"].get<double>() +
                 read["drift_bytes"].get<double>() + read["unexplained_bytes"].get<double>()));
    CHECK(kernel["sectors"]["predicted"].get<double>() ==
          Approx(kernel["sectors"]["measured"].get<double>()).epsilon(1e-4));
  }
  // The lengths, batches and heads that were profiled.
  CHECK(result["kernels"][1]["problem"]["seqlen"] == 131072);
  CHECK(result["kernels"][1]["problem"]["causal"] == true);
  CHECK(result["kernels"][2]["problem"]["heads"] == 4);
  CHECK(result["kernels"][2]["problem"]["batch_size"] == 2);
  const Json cudnn = result_of("explain " + kProfile + ".csv --ncu-kernel cudnn");
  CHECK(cudnn["kernels"][0]["missing"][0] == "seqlen");
  const Json all = result_of("explain " + kProfile + ".csv");
  CHECK(all["other_launches"].get<int>() > 0);
}

TEST_CASE("explain takes a report as well as a CSV, and refuses a file that is neither") {
  const Json result = result_of("explain " + kProfile + ".ncu-rep");
  CHECK(result["kernels"][0]["launches"] == 2);
  CHECK(result["other_launches"] == 1);
  CHECK(run("explain " + kProfile + ".ncu-rep --csv").out.find("fa2") != std::string::npos);
  CHECK(run("explain " + kProfile + ".ncu-rep").out.find("In short: ") != std::string::npos);
  check_refused("explain " + std::string(NATTEN_SIM_SOURCE_DIR) + "/README.md", {"README.md"});
  check_refused("explain", {"profile"});
  check_refused("explain " + kProfile + ".csv --heads 0", {"heads"});
}

}  // namespace
