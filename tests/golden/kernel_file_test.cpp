// `kernel init` and `kernel check`, and who reads a kernel file.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"

namespace kernel_file_test {

using namespace natten_sim::test;

TEST_CASE("kernel init writes a file of under 20 lines, which kernel check and reuse read") {
  const std::string path = scratch_folder() + "/mine.json";
  REQUIRE(run("kernel init --output " + path).exit_code == 0);
  const std::string file = read_text(path);
  CHECK(std::count(file.begin(), file.end(), '\n') < 20);
  const Run checked = run("kernel check " + path);
  CHECK(checked.exit_code == 0);
  CHECK(checked.out.find("mine") != std::string::npos);
  CHECK(checked.out.find("\"rates\"") != std::string::npos);
  const Json reused = Json::parse(run("reuse --kernel " + path + " -i 32768 -d 128 --json --no-conclusion").out);
  CHECK(reused["input"]["kernel"] == "mine");
  CHECK(reused["input"]["kv_tile"] == Json({64}));
}

TEST_CASE("kernel init writes kernels that ship as files") {
  const std::string path = scratch_folder() + "/fa2.json";
  REQUIRE(run("kernel init fa2 --output " + path).exit_code == 0);
  CHECK(result_of("reuse --kernel " + path + " -i 196608 -d 128 --causal --device h200") ==
        result_of("reuse --kernel fa2 -i 196608 -d 128 --causal --device h200"));
}

/// The first two launches of the profile: 16,384 tokens, full and causal.
std::string short_profile() {
  const std::string path = scratch_folder() + "/triton.csv";
  std::istringstream lines(read_text(std::string(NATTEN_SIM_SOURCE_DIR) + "/tests/golden/ncu/triton-h200.csv"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\"ID\"") || line.starts_with("\"0\",") || line.starts_with("\"1\",")) kept += line + "\n";
  }
  write_text(path, kept);
  return path;
}

TEST_CASE("a Triton kernel of a shape of its own is explained by a kernel file of under 20 lines") {
  const std::string path = std::string(NATTEN_SIM_SOURCE_DIR) + "/data/kernel-files/triton-descending.json";
  const std::string file = read_text(path), profile = short_profile();
  CHECK(std::count(file.begin(), file.end(), '\n') < 20);
  CHECK(result_of("explain " + profile + " --device h200")["kernels"].empty());
  const Json kernels = result_of("explain " + profile + " --device h200 --kernel " + path)["kernels"];
  REQUIRE(kernels.size() == 2);
  for (const bool causal : {false, true}) {
    const Json& kernel = kernels[causal ? 1 : 0];
    CHECK(kernel["family"] == "triton-descending");
    CHECK(kernel["missing"].empty());
    CHECK(kernel["problem"]["seqlen"] == 16384);
    CHECK(kernel["problem"]["heads"] == 4);
    CHECK(kernel["problem"]["causal"] == causal);
    CHECK(kernel["known"]["causal"] == "sectors");
    CHECK(kernel["known"]["order"] == "file");
    CHECK(kernel["sectors"]["predicted"].get<double>() ==
          Approx(kernel["sectors"]["measured"].get<double>()).epsilon(1e-4));
    const Json& read = kernel["read"];
    CHECK(read["predicted_bytes"].get<double>() == Approx(read["measured_bytes"].get<double>()).epsilon(0.1));
  }
}

TEST_CASE("kernel says what it takes") {
  check_refused("kernel", {"init, init NAME or check FILE"});
  check_refused("kernel check", {"init, init NAME or check FILE"});
  check_refused("kernel init fa22", {"fa22", "fa2, cudnn"});
  check_refused("kernel check " + scratch_folder() + "/none.json", {"none.json"});
}

}  // namespace kernel_file_test
