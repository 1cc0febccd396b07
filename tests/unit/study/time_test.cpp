#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace time_test {

using namespace natten_sim;
using study::MissingTime;
using study::PassTime;
using study::TimeQuestion;

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<KernelRun> shipped_runs(const std::string& name) {
  return parse_kernel_runs(text_of("data/kernel-runs/" + name), name, {});
}

/// The entries of data/kernel-times.json for a kernel, a device and a head dim, as a file of their own.
Json shipped_costs(const char* kernel, const char* device, std::int64_t head_dim) {
  const Json all = parse_json(text_of("data/kernel-times.json"));
  Json chosen = Json::array();
  for (const Json& entry : all["kernels"]) {
    if (entry["kernel"] == kernel && entry["device"] == device && entry["head_dim"] == head_dim) chosen.push_back(entry);
  }
  REQUIRE(chosen.size() == 1);
  return {{"schema", all["schema"]}, {"kernels", chosen}};
}

/// FLUX at 4k, 80x80 windows.
TimeQuestion flux(std::int64_t stride) {
  TimeQuestion question{.kernel = "hopper-fna", .device = "h200"};
  question.mask = make_mask({256, 256}, {80, 80}, {stride, stride});
  question.tiles = {{16, 8}, {16, 8}};
  question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  return question;
}

PassTime predicted(const TimeQuestion& question) {
  const study::TimeAnswer answer = study::time(question, study::default_context());
  REQUIRE(std::holds_alternative<PassTime>(answer));
  return std::get<PassTime>(answer);
}

/// By measured times alone.
std::string missing(const TimeQuestion& question) {
  study::Context context = study::default_context();
  context.catalog.physics = {};
  const study::TimeAnswer answer = study::time(question, context);
  REQUIRE(std::holds_alternative<MissingTime>(answer));
  return std::get<MissingTime>(answer).sentence;
}

TEST_CASE("fmha is the dense kernel that NATTEN runs for the head dim and the type") {
  study::TimeQuestion question{.kernel = "fmha", .device = "h100"};
  question.mask = make_mask({4096}, {4096});
  question.sizes = {.heads = 8, .heads_kv = 8, .head_dim = 128, .head_dim_value = 128};
  CHECK(study::resolved(question, study::default_context()).kernel == "hopper-fmha");
  question.sizes.head_dim = question.sizes.head_dim_value = 80;
  CHECK(study::resolved(question, study::default_context()).kernel == "cutlass-fmha");
  question.sizes.head_dim = question.sizes.head_dim_value = 128;
  question.dtype = Dtype::kFp32;
  CHECK(study::resolved(question, study::default_context()).kernel == "cutlass-fmha");
}

/// What a fit says, and the error of launches that were predicted before they were measured, where that is larger.
CostEvidence with_judged(CostEvidence evidence, const CostEvidence& shipped) {
  evidence.judged = shipped.judged;
  if (shipped.judged) evidence.interval = std::max(evidence.interval, shipped.judged->error);
  return evidence;
}

TEST_CASE("shipped costs of libraries' dense kernels are those that their runs give, but for what other runs tell") {
  const study::Context context = study::default_context();
  int compared = 0, kept = 0;
  for (const char* name : {"h100", "h200", "ours-h200", "published"}) {
    const std::string path = std::string("data/dense-runs/") + name + ".csv";
    study::CalibrateQuestion question{.runs = parse_kernel_runs(text_of(path), path, {})};
    for (const KernelCosts& fitted : study::calibrate(question, context).entries) {
      const KernelCosts* shipped =
          context.catalog.costs_of(fitted.kernel, fitted.device, fitted.head_dim, fitted.dtypes[0]);
      REQUIRE(shipped != nullptr);
      for (const PassCosts& pass : fitted.passes) {
        const PassCosts* of_shipped = shipped->costs_of(pass.pass);
        REQUIRE(of_shipped != nullptr);
        if (of_shipped->evidence.fitted != pass.evidence.fitted) {
          ++kept;
          continue;
        }
        ++compared;
        CHECK(of_shipped->unmasked_tile_us == Approx(pass.unmasked_tile_us).epsilon(1e-3));
        CHECK(of_shipped->cta_us == Approx(pass.cta_us).epsilon(1e-3));
        CHECK(of_shipped->evidence.interval ==
              Approx(with_judged(pass.evidence, of_shipped->evidence).interval).epsilon(1e-3));
      }
    }
  }
  CHECK(compared == 32);  // kernels, devices, head dims and passes of the four files
  CHECK(kept == 2);       // FlashAttention-2 forward on an H200: launches of few Q tiles too
}

TEST_CASE("priors of a kernel may hold for some head dims alone") {
  const CostPriors& priors = study::default_context().catalog.cost_priors;
  const auto masked_spread = [&](std::int64_t head_dim) {
    for (const CostPrior& prior : priors.of(Walk::kForward, "hopper-fna", head_dim)) {
      if (prior.name == "masked") return prior.spread;
    }
    return 0.0;
  };
  CHECK(masked_spread(32) == masked_spread(64));
  CHECK(masked_spread(64) == 0.25);   // NATTEN's kernel of these is another one
  CHECK(masked_spread(128) == 0.05);  // as of all kernels
  Catalog catalog = study::default_context().catalog;
  const std::string wrong =
      R"({"schema": "natten-sim.kernel-times/1", "kernels": [], "priors": {"forward": [], "backward": [],)"
      R"( "kernels": [{"kernel": "hopper-fna", "head_dims": [0], "forward": [], "backward": []}]}})";
  CHECK_THROWS_AS(add_kernel_times(catalog, wrong, "test"), MalformedData);
}

TEST_CASE("two CTAs an SM take two waves of one, each as slow as with the other beside it, or faster alone") {
  // 64 x 64 tokens, 2 heads: 128 Q tiles of 64 on 132 SMs run at once, and so do 256 of them.
  TimeQuestion question{.kernel = "hopper-fna", .device = "h100"};
  question.mask = make_mask({64, 64}, {16, 16});
  question.tiles = {{8, 8}, {16, 8}};
  question.sizes = {.heads = 2, .heads_kv = 2, .head_dim = 64, .head_dim_value = 64};
  Json file = shipped_costs("hopper-fna", "h100", 64);
  const auto timed = [&](std::int64_t heads) {
    study::Context context = study::default_context();
    add_kernel_times(context.catalog, file.dump(), "test");
    question.sizes.heads = question.sizes.heads_kv = heads;
    return std::get<PassTime>(study::time(question, context));
  };
  const double share = file["kernels"][0]["forward"]["lone_share"], alone_ms = timed(2).kernel_ms;
  file["kernels"][0]["forward"].erase("lone_share");
  const PassTime two = timed(2), four = timed(4);
  CHECK(two.waves == Approx(128.0 / 264));
  CHECK(four.waves == Approx(256.0 / 264));
  CHECK(four.kernel_ms == Approx(two.kernel_ms).epsilon(1e-9));
  const double launch_ms = 1e-3 * file["kernels"][0]["forward"]["launch_us"].get<double>();
  CHECK(alone_ms - launch_ms == Approx((two.kernel_ms - launch_ms) * 0.5 / share).epsilon(1e-3));
  for (const char* key : {"lone_share", "spared_slowdown"}) {  // shares
    for (const double none : {-0.1, 1.1}) {
      Json wrong = file;
      wrong["kernels"][0]["forward"][key] = none;
      study::Context context = study::default_context();
      CHECK_THROWS_AS(add_kernel_times(context.catalog, wrong.dump(), "test"), MalformedData);
    }
  }
  // What a kernel states holds for a pass that states none.
  file["kernels"][0]["forward"].erase("ctas_per_sm");
  file["kernels"][0]["ctas_per_sm"] = 2;
  CHECK(timed(4).kernel_ms == four.kernel_ms);
}

TEST_CASE("every preset of head dim 32 or 64 has times of both passes on an H100") {
  std::size_t presets = 0;
  for (const Preset& preset : study::default_context().catalog.presets) {
    if (preset.head_dim != 32 && preset.head_dim != 64) continue;
    INFO(preset.name);
    TimeQuestion question{.kernel = "hopper-fna", .device = "h100"};
    question.mask = make_mask(preset.layout, Extents(preset.layout.rank(), 3));
    question.sizes = {.heads = preset.heads, .heads_kv = preset.heads, .head_dim = preset.head_dim,
                      .head_dim_value = preset.head_dim};
    const TilePair tiles[] = {{{64}, {128}}, {{8, 8}, {16, 8}}, {{4, 4, 4}, {4, 4, 8}}};
    question.tiles = tiles[preset.layout.rank() - 1];
    CHECK(predicted(question).kernel_ms > 0);
    question.pass = Walk::kBackward;
    CHECK(predicted(question).kernel_ms > 0);
    ++presets;
  }
  CHECK(presets == 12);
}

TEST_CASE("a run is predicted without itself within 4% on average and 12% at worst") {
  for (const study::CalibratedPass& pass :
       study::calibrate({.runs = shipped_runs("natten-h200.csv")}, study::default_context()).passes) {
    if (pass.kernel != "hopper-fna") continue;
    REQUIRE(pass.costs.evidence.left_out);
    CHECK(pass.costs.evidence.left_out->mean < 0.04);
    CHECK(pass.costs.evidence.left_out->worst < 0.12);
  }
}

TEST_CASE(
    "a published run of NATTEN's kernels is predicted without itself within 5% on average and 12% at worst") {
  std::size_t judged = 0;
  for (const study::CalibratedPass& pass :
       study::calibrate({.runs = shipped_runs("natten-published.csv")}, study::default_context()).passes) {
    if (pass.kernel == "cudnn") continue;  // three dense runs, the longest of which is not the slowest
    INFO(pass.kernel << " on " << pass.device);
    REQUIRE(pass.costs.evidence.left_out);
    CHECK(pass.costs.evidence.left_out->mean < 0.05);
    CHECK(pass.costs.evidence.left_out->worst < 0.12);
    ++judged;
  }
  CHECK(judged == 2);  // hopper-fna on an H100, blackwell-fna on a B200
}

TEST_CASE("the published H100 samples, which the H200's costs have not seen, are within 10%") {
  // The same SM; 16.201 and 7.914 ms for FLUX, 79.043 and 23.359 ms for Hunyuan Video.
  CHECK(predicted(flux(1)).kernel_ms == Approx(16.201).epsilon(0.1));
  CHECK(predicted(flux(16)).kernel_ms == Approx(7.914).epsilon(0.1));
  TimeQuestion hunyuan = flux(1);
  hunyuan.mask = make_mask({30, 48, 80}, {18, 24, 24});
  hunyuan.tiles = {{2, 8, 8}, {2, 8, 8}};
  CHECK(predicted(hunyuan).kernel_ms == Approx(79.043).epsilon(0.1));
  hunyuan.mask = make_mask({30, 48, 80}, {18, 24, 24}, {16, 8, 8});
  CHECK(predicted(hunyuan).kernel_ms == Approx(23.359).epsilon(0.1));
}

TEST_CASE("a time says what it consists of and how sure it is") {
  const PassTime masked = predicted(flux(1)), skipped = predicted(flux(16));
  CHECK(masked.parts.masking_ms > 0);
  CHECK(skipped.parts.masking_ms == 0);
  // 24 heads of 512 Q tiles on 132 SMs.
  CHECK(masked.ctas == 12288);
  CHECK(masked.waves == Approx(12288.0 / 132));
  REQUIRE(masked.permutation_ms);
  CHECK(masked.total_ms == Approx(masked.kernel_ms + *masked.permutation_ms));
  CHECK(masked.low_ms < masked.total_ms);
  CHECK(masked.high_ms > masked.total_ms);
  CHECK(masked.limited_by == "tiles");
  REQUIRE(masked.speedup);
  CHECK(masked.dense_kernel == "fa4");
  CHECK(*masked.speedup == Approx(*masked.dense_ms / masked.total_ms));
  // 25,600 visited tiles of 128 x 128, 4 * 128 operations a pair, 24 heads.
  CHECK(skipped.tflops_per_s == Approx(25600.0 * 16384 * 512 * 24 / (1e9 * skipped.kernel_ms)));
}

TEST_CASE("copies take what was measured") {
  // 0.3293 ms for each of Q, K and V, 0.4174 ms for O, and .83 of that for the log-sum-exp, as on an H100.
  TimeQuestion older = flux(1);
  older.natten = "0.21.6";
  CHECK(*predicted(older).permutation_ms == Approx(3 * 0.3293 + 1.83 * 0.4174).epsilon(0.02));
  TimeQuestion line = flux(1);
  line.mask = make_mask({32768}, {2048});
  line.tiles = {{128}, {128}};
  CHECK(predicted(line).copies->origin == CopyOrigin::kTransferred);  // by the rates on two axes
}

TEST_CASE("a backward pass has costs of its own, and is counted over the dense kernel that was measured") {
  TimeQuestion question = flux(16);
  question.pass = Walk::kBackward;
  question.tiles = {{8, 8}, {16, 8}};
  const PassTime time = predicted(question);
  CHECK(time.kernel_ms > 3 * predicted(flux(16)).kernel_ms);
  CHECK(time.dense_kernel == "fa4");  // hopper-fmha was measured forward alone
  CHECK(time.speedup_kernel);
}

TEST_CASE("every copy is a launch of its own") {
  // One head of 8x8 tokens: Q, K, V, O and the log-sum-exp are five launches of 4 us; the bytes take nothing.
  TimeQuestion tiny = flux(1);
  tiny.mask = make_mask({8, 8}, {4, 4});
  tiny.sizes.heads = tiny.sizes.heads_kv = 1;
  CHECK(*predicted(tiny).permutation_ms == Approx(5 * 0.004).epsilon(0.02));
}

TEST_CASE("K and V that NATTEN repeats for all heads cost their bytes and a launch each") {
  TimeQuestion grouped = flux(1);
  grouped.sizes.heads_kv = 8;
  const PassTime time = predicted(grouped), alone = predicted(flux(1));
  CHECK(*alone.repetition_ms == 0);
  // K and V of 65,536 tokens: 8 heads of 256 bytes are read and 24 written, at 4.3 TB/s; two launches of 4
  // us.
  const double repetition_ms = 2 * (65536.0 * 256 * (8 + 24) / 4.3e9 + 0.004);
  CHECK(*time.repetition_ms == Approx(repetition_ms).epsilon(1e-4));
  CHECK(time.total_ms == Approx(alone.total_ms + repetition_ms).epsilon(1e-4));
  CHECK(*time.dense_ms == Approx(*alone.dense_ms).epsilon(1e-4));  // fa4 takes grouped heads as they are
  grouped.kernel = "flexattention";
  CHECK(*predicted(grouped).repetition_ms == 0);
  TimeQuestion backward = grouped;
  backward.kernel = "hopper-fna";
  backward.pass = Walk::kBackward;
  backward.tiles = {{8, 8}, {16, 8}};
  CHECK(*predicted(backward).repetition_ms ==
        Approx(repetition_ms).epsilon(1e-4));  // dK and dV summed: as many bytes
}

TEST_CASE("a masking that no run had is stated with a wider interval") {
  // Of the kernel: copies have an interval of their own.
  const auto share = [](const PassTime& time) {
    const double copies_ms = time.permutation_ms.value_or(0);
    const double copies = time.copies ? time.copies->interval * copies_ms : 0,
                 all = time.high_ms - time.total_ms;
    return std::sqrt(all * all - copies * copies) / (time.total_ms - copies_ms);
  };
  Json file = shipped_costs("hopper-fna", "h200", 128);
  const Json plane = {"unmasked", "masked 2-D"};
  for (const char* pass : {"forward", "backward"}) file["kernels"][0][pass]["kinds"] = plane;
  study::Context context = study::default_context();
  add_kernel_times(context.catalog, file.dump(), "test");
  const auto of_plane = [&](const TimeQuestion& question) { return std::get<PassTime>(study::time(question, context)); };
  TimeQuestion line = flux(1);
  line.mask = make_mask({32768}, {2048});
  line.tiles = {{128}, {128}};
  CHECK(share(of_plane(flux(1))) == Approx(of_plane(flux(1)).evidence.interval));
  CHECK(share(of_plane(line)) > 1.02 * of_plane(line).evidence.interval);
  // No run was padded without a mask either; the prior leaves 5% of such a tile open, twice that is stated.
  TimeQuestion padded = flux(1);
  padded.pass = Walk::kBackward;
  padded.mask = make_mask({16, 44, 80}, {16, 44, 80});
  padded.tiles = {{1, 8, 8}, {2, 8, 8}};
  const double interval = of_plane(padded).evidence.interval;
  CHECK(share(of_plane(padded)) == Approx(std::hypot(interval, 0.1)).epsilon(0.02));
}

TEST_CASE("how much long runs slow down is expected of other kernels on the same device") {
  // A run of 80 ms alone says nothing about shorter ones. Two runs of another kernel, whose tiles take 1 us
  // in 0.1 ms and 1.4 us in 100 ms, do; on another device they do not.
  const auto dense = [](const char* kernel, const char* device, std::int64_t heads, double ms) {
    KernelRun run{.kernel = kernel, .device = device};
    run.input = run.window = {16896};  // 132 Q tiles of 128: one wave a head
    run.q_tile = run.kv_tile = {128};
    run.heads = heads;
    run.ms = ms;
    return run;
  };
  const auto slowdown = [&](const char* other_device) {
    const std::vector<KernelRun> runs = {dense("hopper-fmha", "h200", 400, 80),
                                         dense("cudnn", other_device, 1, 0.138),
                                         dense("cudnn", other_device, 700, 0.138 * 700 * 1.4)};
    return study::calibrate({.runs = runs, .suggestions = 0}, study::default_context())
        .passes[0]
        .costs.slowdown;
  };
  const double alone = slowdown("h100"), beside = slowdown("h200");
  CHECK(alone == Approx(0.16).epsilon(0.01));  // the prior
  CHECK(beside > 1.5 * alone);
}

TEST_CASE("a persistent launch never ends before a grid one with equal CTAs") {
  TimeQuestion question = flux(16);
  question.schedule = KernelSchedule::kPingpong;
  CHECK(predicted(question).kernel_ms >= predicted(flux(16)).kernel_ms * (1 - 1e-12));
}

TEST_CASE("additional keys take a dense pass more") {
  TimeQuestion question = flux(16);
  question.additional_keys = 512;
  // 512 Q tiles a head see 4 more KV tiles each: 2048 of 27,648.
  CHECK(predicted(question).kernel_ms > predicted(flux(16)).kernel_ms);
  CHECK(predicted(question).kernel_ms < 1.15 * predicted(flux(16)).kernel_ms);
}

TEST_CASE("what nobody has measured is not predicted, and the missing measurement is named") {
  TimeQuestion question = flux(1);
  question.sizes.head_dim = question.sizes.head_dim_value = 64;
  CHECK(missing(question).find("head dim 64") != std::string::npos);
  question = flux(1);
  question.device = "a100";
  CHECK(missing(question).find("on a100") != std::string::npos);
  question = flux(1);
  question.tiles = {{8, 8}, {8, 8}};
  CHECK(missing(question).find("64 x 64") != std::string::npos);
  question = flux(1);
  question.dtype = Dtype::kFp32;
  CHECK(missing(question).find("fp32") != std::string::npos);
  question = flux(1);
  question.kernel = "hoper-fna";
  CHECK_THROWS_AS(study::time(question, study::default_context()), UnknownName);
}

TEST_CASE("costs of a user come before those that ship") {
  study::Context context = study::default_context();
  Json file = shipped_costs("hopper-fna", "h200", 128);
  Json& mine = file["kernels"][0]["forward"];
  mine["unmasked_tile_us"] = 2 * mine["unmasked_tile_us"].get<double>();
  for (Json& time : mine["masked_tile_us"]) time = 2 * time.get<double>();
  add_kernel_times(context.catalog, file.dump(), "test");
  const auto answer = std::get<PassTime>(study::time(flux(1), context));
  CHECK(answer.kernel_ms > 1.8 * predicted(flux(1)).kernel_ms);
}

}  // namespace time_test
