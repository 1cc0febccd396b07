#include <sstream>
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace explain_test {

using namespace natten_sim::test;

const std::string kProfile = std::string(NATTEN_SIM_SOURCE_DIR) + "/tests/golden/ncu/attention-h200";

Json of_family(const Json& result, const std::string& family) {
  Json kernels = Json::array();
  for (const Json& kernel : result["kernels"]) {
    if (kernel["family"] == family) kernels.push_back(kernel);
  }
  return kernels;
}

/// Checks what is said of FlashAttention-2's kernels in this CSV; returns them.
Json check_explained(const std::string& profile) {
  const Json all = result_of("explain " + profile);
  CHECK(all["device"] == "h200");
  CHECK(all["other_launches"].get<int>() > 0);
  Json kernels = of_family(all, "fa2");
  for (const Json& kernel : kernels) {
    CHECK(kernel["missing"].empty());
    const Json& read = kernel["read"];
    CHECK(read["measured_bytes"].get<double>() ==
          Approx(read["compulsory_bytes"].get<double>() + read["lockstep_bytes"].get<double>() +
                 read["drift_bytes"].get<double>() + read["unexplained_bytes"].get<double>()));
    CHECK(kernel["sectors"]["predicted"].get<double>() ==
          Approx(kernel["sectors"]["measured"].get<double>()).epsilon(1e-4));
  }
  return kernels;
}

/// The profile without the launches of 131,072 tokens, most of the time to explain it.
std::string profile_of_short_sequences() {
  const std::string path = scratch_folder() + "/profile.csv";
  std::istringstream lines(read_text(kProfile + ".csv"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("\"3\",") && !line.starts_with("\"4\",")) kept += line + "\n";
  }
  write_text(path, kept);
  return path;
}

TEST_CASE("explain reads a profile of PyTorch's attention and names what it cannot know") {
  const Json kernels = check_explained(profile_of_short_sequences());
  // The lengths, batches and heads that were profiled.
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0]["problem"]["seqlen"] == 65536);
  CHECK(kernels[0]["problem"]["causal"] == false);
  CHECK(kernels[1]["problem"]["causal"] == true);
  CHECK(kernels[1]["problem"]["heads"] == 4);
  CHECK(kernels[1]["problem"]["batch_size"] == 2);
  const Json cudnn = result_of("explain " + kProfile + ".csv --ncu-kernel cudnn");
  CHECK(cudnn["kernels"][0]["missing"][0] == "seqlen");
}

TEST_CASE("explain reads a profile of long sequences, and says the same of kernels that are chosen by name",
          "[.nightly]") {
  const Json kernels = check_explained(kProfile + ".csv");
  REQUIRE(kernels.size() == 4);
  CHECK(kernels[1]["problem"]["seqlen"] == 131072);
  CHECK(kernels[1]["problem"]["causal"] == true);
  const Json chosen = result_of("explain " + kProfile + ".csv --ncu-kernel flash_fwd_kernel");
  CHECK(chosen["device"] == "h200");
  CHECK(chosen["kernels"] == kernels);
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

}  // namespace explain_test
