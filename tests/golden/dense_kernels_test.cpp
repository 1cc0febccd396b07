// What a speedup is over, and what an answer says where NATTEN does not run the kernel or the call: each held against
// the same question asked in another way.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "program.hpp"

namespace dense_kernels_test {

using namespace natten_sim::test;

int rank_of(const Json& result) {
  const std::string evidence = result["time"]["costs"]["evidence"];
  return evidence == "measured" ? 0 : evidence == "transferred" ? 1 : 2;
}

/// The speedup of `window` on `device` is over the kernel that answers `dense` soonest, asked alone.
void check_over_fastest(const std::string& device, const std::string& window, const std::string& dense) {
  const Json sparse = result_of("count " + window + " --device " + device);
  INFO(device << ": " << window);
  REQUIRE(sparse["time"].contains("dense_kernel"));
  double least = 1e300;
  std::string fastest;
  for (const std::string kernel : {"cudnn", "fa2", "fa3", "fa4", "hopper-fmha", "blackwell-fmha", "cutlass-fmha"}) {
    // Of NATTEN's, that of the family and that of the device.
    const std::string family = sparse["kernel"]["name"], start = kernel.substr(0, 3);
    const std::string of_device = device == "b200" ? "bla" : device[0] == 'h' ? "hop" : "cut";
    if (kernel.ends_with("-fmha") && start != family.substr(0, 3) && start != of_device) continue;
    const Run done = run("count --json --quiet --kernel " + kernel + " " + dense + " --device " + device);
    if (done.exit_code != 0) continue;  // a library's that does not run there
    const Json answer = Json::parse(done.out)["result"];
    if (!answer.contains("time") || rank_of(answer) > rank_of(sparse)) continue;  // no time, or a weaker one
    const double ms = answer["time_ms"]["total"];
    if (ms < least) least = ms, fastest = kernel;
  }
  CHECK(sparse["time"]["dense_kernel"] == fastest);
  CHECK(sparse["time"]["dense_ms"].get<double>() == Approx(least).epsilon(0.01));
  CHECK(sparse["speedup_time"].get<double>() ==
        Approx(sparse["time"]["dense_ms"].get<double>() / sparse["time_ms"]["total"].get<double>()));
}

TEST_CASE("a speedup is over the fastest dense kernel that no weaker evidence speaks for") {
  for (const std::string device : {"h100", "h200", "b200", "a100", "gb10"}) {
    for (const std::string head_dim : {"64", "96", "128"}) {
      const std::string sizes = "-i 64 128 -n 24 -d " + head_dim;
      check_over_fastest(device, sizes + " -w 16 32", sizes);
    }
  }
}

TEST_CASE("on one causal axis a speedup is over causal dense attention") {
  for (const std::string device : {"h100", "h200", "b200", "a100"}) {
    for (const std::string more : {"", " -s 64", " --dilation 2"}) {
      const std::string sizes = "-i 8192 -n 16 -d 128 --causal 1";
      check_over_fastest(device, sizes + " -w 1024" + more, sizes);
    }
  }
  const std::string sizes = "count -n 16 -d 128 --device h200 -i ";
  CHECK(result_of(sizes + "8192 -w 1024 --causal 1")["time"]["dense_masked"] == true);
  CHECK_FALSE(result_of(sizes + "8192 -w 1024")["time"].contains("dense_masked"));
  CHECK_FALSE(result_of(sizes + "64 128 -w 16 16 --causal 0 1")["time"].contains("dense_masked"));
  CHECK(result_of(sizes + "8192 --causal 1 --kernel fa4")["speedup_time"].get<double>() == Approx(1));
}

TEST_CASE("a mask in blocks that no later key passes is compared with causal kernels, by their own times") {
  const std::string sizes = " -i 8192 -n 16 -d 128 --dtype bf16 --device h200";
  double least = 1e300;
  for (const std::string kernel : {"cudnn", "fa2", "fa4"})
    least = std::min(least, result_of("count -w 8192 --causal 1 --kernel " + kernel + sizes)["time_ms"]["total"].get<double>());
  for (const std::string mask : {"causal", "window:512,0", "'document:4096,4096&causal'"}) {
    const Json blocks = result_of("mask --mask " + mask + sizes);
    CHECK(blocks["time"]["dense_masked"] == true);
    CHECK(blocks["time"]["dense_ms"].get<double>() == Approx(least));
  }
  CHECK_FALSE(result_of("mask --mask window:512,1" + sizes)["time"].contains("dense_masked"));
}

TEST_CASE("deterministic gradients are not compared with unordered ones in silence") {
  const std::string line = "count -i 64 64 -w 16 16 -n 8 -d 64 --device h200 --backprop";
  CHECK(result_of(line + " --deterministic")["backward"]["time"]["dense_unordered"] == true);
  CHECK_FALSE(result_of(line)["backward"]["time"].contains("dense_unordered"));
  CHECK(run(line + " --deterministic").out.find("not deterministic") != std::string::npos);
}

TEST_CASE("a library's kernel is not refused by NATTEN, which does not run it") {
  for (const std::string kernel : {"fa2", "fa3", "cudnn", "fa4"}) {
    const Run done = run("count -i 64 64 -w 64 64 -n 8 -d 128 --dim-value 128 --device h100 --kernel " + kernel);
    INFO(done.out);
    CHECK(done.exit_code == 0);
    CHECK(done.out.find("NATTEN 0.") == std::string::npos);
  }
  CHECK(run("count -i 64 64 -w 64 64 -n 8 -d 256 --device h100 --kernel fa3").out.find("refuses") == std::string::npos);
  check_refused("count -i 64 64 -w 16 16 -n 8 -d 128 --device h100 --kernel fa4", {"fa4", "16x16", "--mask"});
}

TEST_CASE("a refused call names the backend that runs it, and that one does") {
  const std::string line = "count -i 64 64 -w 16 16 -n 8 -d 256 --device h100";
  const Json refused = conclusion_of(line);
  REQUIRE(refused["options"].is_object());
  const std::string backend = refused["options"]["backend"];
  const Json accepted = result_of(line + " --backend " + backend);
  CHECK(refused["limit"] == "NATTEN refuses this call");
  CHECK(accepted["kernel"]["name"] == backend);
  CHECK(accepted["time_ms"].is_object());
}

TEST_CASE("what no backend runs is told with all that any of them runs") {
  const std::string line = "count -i 64 64 -w 16 16 -n 8 --device h100 ";
  check_refused(line + "-d 12", {"dim", "12", "multiples of 8"});
  CHECK(run(line + "-d 24").exit_code == 0);
  check_refused(line + "-d 64 --dtype e4m3", {"dtype", "fp16, bf16, fp32"});
  CHECK(run(line + "-d 64 --dtype fp32").exit_code == 0);
}

TEST_CASE("FlashAttention-4's blocks are by default those of the device's kernel") {
  for (const std::string device : {"h200", "b200"}) {
    const std::string line = "mask --mask causal -i 8192 -n 16 -d 128 --kernel fa4 --device " + device;
    CHECK(result_of(line)["q_tile"] == (device == "b200" ? 256 : 128));
  }
}

TEST_CASE("copies of a cyclic axis are known, and the closing takes the faster way with all of them") {
  const std::string line = "count -i 180 360 -w 15 15 --cyclic 0 1 -n 8 -d 64 --device h200";
  const Json result = result_of(line);
  CHECK(run(line).out.find("copies not known") == std::string::npos);
  const double padded = result["padded"]["time_ms"]["total"].get<double>() + result["padded"]["padding_ms"].get<double>();
  const Json closing = conclusion_of(line);
  CHECK(closing["gain"].get<double>() == Approx((result["time_ms"]["total"].get<double>() + result["blocks_ms"].get<double>()) / padded));
  CHECK(closing["change"].get<std::string>().find("padded tokens") != std::string::npos);
  // Copies of callers do not depend on NATTEN's release.
  CHECK(result_of(line + " --natten 0.21.6")["blocks_ms"] == result["blocks_ms"]);
}

}  // namespace dense_kernels_test
