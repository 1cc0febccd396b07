// `kernel init` and `kernel check`, and who reads a kernel file.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "places.hpp"
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
  CHECK(reused["input"]["kernel"] == path);
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
  std::istringstream lines(read_text(std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/triton-h200.csv"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\"ID\"") || line.starts_with("\"0\",") || line.starts_with("\"1\",")) kept += line + "\n";
  }
  write_text(path, kept);
  return path;
}

TEST_CASE("a Triton kernel of a shape of its own is explained by a kernel file of under 20 lines") {
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/data/kernel-files/triton-descending.json";
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

/// A file that `kernel init` wrote.
const std::string& mine() {
  static const std::string kPath = [] {
    std::string path = scratch_folder() + "/mine.json";
    if (run("kernel init --output " + path).exit_code != 0) FAIL("kernel init failed");
    return path;
  }();
  return kPath;
}

TEST_CASE("every subcommand that names a kernel takes its file, and its input is a question with the same answer") {
  const std::string kernel = " --kernel " + mine() + " -d 128 --device h200";
  for (const std::string& asked :
       {"count -i 8192 -n 4 --dtype bf16" + kernel, "count -i 32 48 -w 16 16 -n 4 --dtype bf16" + kernel,
        "mask --mask causal -i 8192 -n 4" + kernel, "reuse -i 8192 -d 128 --kernel " + mine()}) {
    INFO(asked);
    const Json answer = Json::parse(run(asked + " --json --no-conclusion").out);
    const std::string command = asked.substr(0, asked.find(' '));
    const Json request = {{"command", command}, {"options", answer["input"]}};
    const Json again = Json::parse(run("serve", request.dump() + "\n").out);
    CHECK(again["result"] == answer["result"]);
    CHECK(answer["input"]["kernel"] == mine());
    CHECK(run(asked).exit_code == 0);  // as text, with what to change first
  }
  const Json found = result_of("search -i 32 32 -w 16 16 -n 4 --dtype bf16 --kernel " + mine() + " flexattention -d 128 --device h200 --top 20");
  CHECK(std::any_of(found["candidates"].begin(), found["candidates"].end(),
                    [](const Json& candidate) { return candidate["kernel_timed"] == "mine"; }));
  check_refused("schedule -i 8192 --heads 4 --mask causal --device h200 --kernel " + mine(), {"mine.json", "backward"});
}

TEST_CASE("runs of a kernel of a file are fitted, and count takes the costs") {
  const std::string runs = scratch_folder() + "/runs.csv", costs = scratch_folder() + "/costs.json";
  write_text(runs, "input,window,q_tile,kv_tile,heads,ms\n8192,8192,128,64,8,0.62\n16384,16384,128,64,8,2.4\n32768,32768,128,64,8,9.5\n");
  const Json fitted = result_of("calibrate " + runs + " --kernel " + mine() + " --device h200 --save " + costs);
  CHECK(fitted["kernels"][0]["kernel"] == "mine");
  const Json counted = result_of("count -i 32768 -n 8 -d 128 --dtype bf16 --device h200 --kernel " + mine() + " --costs " + costs);
  CHECK(counted["time"]["costs"]["evidence"] == "measured");
  CHECK(counted["time_ms"]["total"].get<double>() == Approx(9.5).epsilon(0.05));
}

TEST_CASE("validate holds a profile against the kernel of a file") {
  const std::string path = std::string(natten_sim::test::kSourceDir) + "/data/kernel-files/triton-descending.json";
  const Run compared = run("validate --ncu-csv " + short_profile() + " --ncu-kernel descending_attention --kernel " + path +
                           " --point tokens=16384 heads=4 head_dim=128 --device h200 --csv");
  CHECK(compared.out.find("l2_read_sectors") != std::string::npos);
  check_refused("validate --kernel fa2", {"--ncu-csv"});
}

TEST_CASE("list writes the kernels that ship as a file, and each of it is that kernel") {
  const std::string path = scratch_folder() + "/all.json";
  REQUIRE(run("list kernels --file --output " + path).exit_code == 0);
  CHECK(run("kernel check " + path).exit_code == 0);
  const std::string asked = " -i 32768 -n 4 -d 128 --dtype bf16 --device h200";
  CHECK(result_of("count --kernel '" + path + "#cudnn'" + asked) == result_of("count --kernel cudnn" + asked));
  check_refused("count --kernel " + path + asked, {"all.json#NAME", "fa2"});
  check_refused("list devices --file", {"kernels"});
  const Run one = run("list fa2 --file");
  CHECK(one.out == run("kernel init fa2").out);
}

TEST_CASE("explain takes a kernel that ships, or says how its launches are known") {
  const std::string profile = std::string(natten_sim::test::kSourceDir) + "/tests/golden/ncu/attention-h200.csv";
  const Json kernels = result_of("explain " + profile + " --kernel fa2 --ncu-kernel flash_fwd_kernel -d 128 --device h200")["kernels"];
  REQUIRE_FALSE(kernels.empty());
  CHECK(kernels[0]["family"] == "fa2");
  CHECK(kernels[0]["known"]["q_tile"] == "file");
  check_refused("explain " + profile + " --kernel cudnn", {"cudnn", "names", "--as"});
  check_refused("explain " + profile + " --kernel fa22", {"fa22", "fa2"});
}

TEST_CASE("kernel says what it takes") {
  check_refused("kernel", {"init, init NAME or check FILE"});
  check_refused("kernel check", {"init, init NAME or check FILE"});
  check_refused("kernel init fa22", {"fa22", "fa2, cudnn"});
  check_refused("kernel check " + scratch_folder() + "/none.json", {"none.json"});
}

}  // namespace kernel_file_test
