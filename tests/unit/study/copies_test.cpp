#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_runs.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace copies_test {

using namespace natten_sim;
using study::PassTime;
using study::TimeQuestion;

std::vector<KernelRun> h100_runs() {
  const std::string path = "data/kernel-runs/natten-h100.csv";
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_kernel_runs(text.str(), path, {});
}

PassTime predicted(const TimeQuestion& question) {
  const study::TimeAnswer answer = study::time(question, study::default_context());
  REQUIRE(std::holds_alternative<PassTime>(answer));
  return std::get<PassTime>(answer);
}

PassTime predicted(const KernelRun& run) {
  TimeQuestion question = study::time_question(run);
  question.natten = run.natten;
  return predicted(question);
}

/// Q, K, V, O and the log-sum-exp; none: not timed.
std::optional<double> measured_copies_ms(const KernelRun& run) {
  if (!run.perm_q_ms) return std::nullopt;
  return *run.perm_q_ms + 2 * *run.perm_kv_ms + *run.unperm_o_ms + *run.unperm_lse_ms;
}

/// Cosmos on an H200, whose windows cover the input, by the kernel itself.
TimeQuestion cosmos_on_h200(const char* release) {
  TimeQuestion question{.kernel = "hopper-fna", .device = "h200"};
  question.mask = make_mask({16, 44, 80}, {16, 44, 80});
  question.tiles = {{4, 4, 8}, {4, 4, 8}};
  question.sizes = {.heads = 32, .heads_kv = 32, .head_dim = 128, .head_dim_value = 128};
  question.natten = release;
  return question;
}

TEST_CASE("copies take what they took on an H100, release by release") {
  double measured = 0, told = 0;
  for (const KernelRun& run : h100_runs()) {
    const std::optional<double> copies_ms = measured_copies_ms(run);
    if (!copies_ms) continue;
    CAPTURE(run.natten, key_of_run(run), *copies_ms);
    const PassTime time = predicted(run);
    REQUIRE(time.permutation_ms);
    // 0.21.6 copies Cosmos in padded tiles 7% faster than its rates on three axes say; all others lie within
    // 4%.
    CHECK(*time.permutation_ms == Approx(*copies_ms).epsilon(0.07));
    CHECK(std::abs(*time.permutation_ms - *copies_ms) <
          time.copies->interval * *time.permutation_ms + 0.05 * *copies_ms);
    measured += *copies_ms;
    told += *time.permutation_ms;
  }
  CHECK(told == Approx(measured).epsilon(0.02));
}

TEST_CASE("copies on one axis take their rates on two, and are as uncertain as axes tell") {
  TimeQuestion question{.kernel = "hopper-fna", .device = "h100"};
  question.mask = make_mask({16384}, {2048});
  question.tiles = {{128}, {128}};
  question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  const PassTime one = predicted(question);
  question.mask = make_mask({128, 128}, {16, 128});
  question.tiles = {{8, 16}, {8, 16}};
  const PassTime two = predicted(question);
  REQUIRE(one.permutation_ms);
  CHECK(*one.permutation_ms == Approx(*two.permutation_ms).epsilon(0.02));  // the same bytes
  CHECK(one.copies->origin == CopyOrigin::kTransferred);
  CHECK(one.copies->interval > two.copies->interval);
  question.device = "b200";  // PyTorch's operators, which copy nothing there
  question.kernel = "blackwell-fna";
  question.mask = make_mask({16384}, {2048});
  question.tiles = {{256}, {128}};
  CHECK_FALSE(predicted(question).permutation_ms);
}

TEST_CASE("all copies of Hunyuan Video take 2.1 ms in 0.21.7 and 4.5 in 0.21.6") {
  KernelRun run = h100_runs().front();  // 30x48x80, 24 heads
  run.natten = "0.21.7";
  CHECK(*predicted(run).permutation_ms == Approx(2.1).epsilon(0.03));
  run.natten = "0.21.6";
  CHECK(*predicted(run).permutation_ms == Approx(4.5).epsilon(0.03));
  // Without a release, the newest.
  CHECK(*predicted(study::time_question(run)).permutation_ms == Approx(2.1).epsilon(0.03));
}

TEST_CASE("17 of the 18 given H100 runs are told with their copies within 5%, the other within 6.5%") {
  int missed = 0;
  for (const KernelRun& run : h100_runs()) {
    const PassTime time = predicted(run);
    const std::optional<double> copies_ms = measured_copies_ms(run);
    const double measured_ms = *run.ms + copies_ms.value_or(0);
    const double told_ms = copies_ms ? time.total_ms : time.kernel_ms;
    const double deviation = told_ms / measured_ms - 1;
    CAPTURE(key_of_run(run), measured_ms, told_ms, deviation);
    CHECK(std::abs(deviation) < 0.065);
    missed += std::abs(deviation) >= 0.05 ? 1 : 0;
  }
  // Cosmos with 0.21.6, 92.7 ms where the same kernel took 90.5 with 0.21.7.
  CHECK(missed == 1);
}

TEST_CASE("the log-sum-exp took as long as O in 0.21.6 and costs little in 0.21.7") {
  // A row of O is 512 bytes read and written at head dim 128, one of the log-sum-exp 8: .78 to .86 of the
  // time.
  for (const char* device : {"h100", "h200"}) {
    const KernelCosts* costs = builtin_catalog().costs_of("hopper-fna", device, 128, Dtype::kBf16);
    REQUIRE(costs != nullptr);
    int rates = 0;
    for (const PermutationRate& rate : costs->permutation) {
      if (rate.origin != CopyOrigin::kMeasured) continue;
      CAPTURE(device, rate.axes, rate.natten);
      REQUIRE(rate.lse_bytes_per_s);
      const double share = (8 / *rate.lse_bytes_per_s) / (512 / rate.out_bytes_per_s);
      if (rate.natten == "0.21.5") CHECK((share > 0.77 && share < 0.87));
      if (rate.natten == "0.21.7") CHECK(share < 0.1);
      ++rates;
    }
    CHECK(rates >= 2);
  }
}

TEST_CASE("an H200 copies the log-sum-exp of 0.21.6 as an H100 does, next to what was timed there") {
  // .5276 ms for Q, .5272 for K and V each, .6509 for O, and .82 of that.
  const PassTime time = predicted(cosmos_on_h200("0.21.6"));
  CHECK(*time.permutation_ms == Approx(0.5276 + 2 * 0.5272 + 0.6509 * 1.82).epsilon(0.05));
  CHECK(time.copies->origin == CopyOrigin::kMeasured);
}

TEST_CASE("copies that nobody timed on a device go by DRAM bandwidth from where they were timed") {
  // 2.83 TB/s on an H100 of 3.35 TB/s; an H200 has 4.3.
  const PassTime time = predicted(cosmos_on_h200("0.21.7"));
  REQUIRE(time.copies);
  CHECK(time.copies->origin == CopyOrigin::kTransferred);
  CHECK(time.copies->source.find("h100") != std::string::npos);
  const double bytes = 4.0 * 2 * 16 * 44 * 80 * 32 * 128 * 2;  // Q, K, V, O read and written
  CHECK(*time.permutation_ms == Approx(1e3 * bytes / (2.83e12 * 4.3 / 3.35)).epsilon(0.05));
  CHECK(time.copies->interval > 0.25);
}

TEST_CASE("copies by PyTorch's operators say so") {
  TimeQuestion question{.kernel = "blackwell-fna", .device = "b200"};
  question.mask = make_mask({256, 256}, {80, 80}, {16, 16});
  question.tiles = {{16, 16}, {16, 8}};
  question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  const PassTime time = predicted(question);
  REQUIRE(time.copies);
  CHECK(time.copies->origin == CopyOrigin::kPytorch);
  // 6.389 - 4.114 ms published.
  CHECK(*time.permutation_ms == Approx(6.389 - 4.114).epsilon(0.05));
  // NATTEN's own kernel could be as much faster as on an H100: 5.37 to 5.75 ms by PyTorch, 2.1 by itself.
  CHECK(time.total_ms - time.low_ms > (1 - 2.1 / 5.37) * *time.permutation_ms);
}

TEST_CASE("flex-fna's tokens are copied by the same kernel as hopper-fna's, FlexAttention's own are not NATTEN's") {
  TimeQuestion question = cosmos_on_h200("0.21.6");
  const PassTime hopper = predicted(question);
  question.kernel = "flex-fna";
  question.mask = make_mask({16, 44, 80}, {16, 24, 16});
  const PassTime flex = predicted(question);
  // The same tokens, tiles, release and device; a launch of each kernel's own for each of the five copies.
  CHECK(*flex.permutation_ms == Approx(*hopper.permutation_ms).margin(5 * 0.01));
  CHECK(flex.copies->origin == CopyOrigin::kMeasured);
  question.kernel = "flexattention";
  CHECK_FALSE(predicted(question).permutation_ms);
}

TEST_CASE("beside the time of another kernel NATTEN's copies have no second time") {
  study::CountQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = "h200";
  question.setting.backend = "hopper-fna";
  question.window = {18, 24, 24};
  question.kernel = "cutlass-fna";
  const study::CountAnswer answer = study::count(question, study::default_context());
  REQUIRE(std::holds_alternative<PassTime>(*answer.time));
  REQUIRE(answer.kernel.forward);
  CHECK_FALSE(answer.kernel.forward->floors);
  CHECK_FALSE(answer.kernel.forward->with_permutation);
}

TEST_CASE("an interval holds the errors of the kernel and of the copies") {
  const PassTime time = predicted(cosmos_on_h200("0.21.7"));
  const double kernel = time.evidence.interval * time.kernel_ms,
               copies = time.copies->interval * *time.permutation_ms;
  CHECK(time.high_ms - time.total_ms == Approx(std::hypot(kernel, copies)));
  CHECK(time.total_ms - time.low_ms == Approx(std::hypot(kernel, copies)));
}

TEST_CASE("one answer has one time of copies") {
  for (const char* device : {"h200", "h100", "b200"}) {
    study::CountQuestion question;
    question.setting.preset = "hunyuan-video";
    question.setting.device = device;
    question.window = {18, 24, 24};
    question.stride = {16, 8, 8};
    const study::CountAnswer answer = study::count(question, study::default_context());
    REQUIRE(answer.kernel.forward->floors);
    CHECK(answer.kernel.forward->floors->permutation_timed);
    CHECK(answer.kernel.forward->floors->permutation_ms == *std::get<PassTime>(*answer.time).permutation_ms);
  }
}

}  // namespace copies_test
