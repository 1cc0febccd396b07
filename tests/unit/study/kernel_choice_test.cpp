// A kernel of a file in every question that names a kernel.
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/mask.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace kernel_choice_test {

using namespace natten_sim;
using namespace natten_sim::study;
using natten_sim::test::shared_context;

/// Q tiles of 128, KV tiles of 64 at head dim 128, in a grid.
AttentionKernel plain_kernel() {
  AttentionKernel kernel;
  kernel.name = "mine";
  kernel.title = "a test's kernel";
  kernel.q_tile = 128;
  kernel.kv_tiles = {{.head_dim = 128, .kv_tile = 64, .stages = 2}};
  kernel.schedule = CtaSchedule::kGrid;
  kernel.source = "this test";
  kernel.file = "mine.json";
  return kernel;
}

KernelChoice chosen(const AttentionKernel& kernel) {
  KernelChoice choice = kernel.name;
  choice.file = kernel.file;
  choice.own = std::make_shared<const AttentionKernel>(kernel);
  return choice;
}

CountQuestion sequence(const AttentionKernel& kernel, std::int64_t tokens, std::int64_t heads) {
  CountQuestion question;
  question.setting.input = {tokens};
  question.setting.heads = heads;
  question.setting.head_dim = 128;
  question.setting.dtype = Dtype::kBf16;
  question.setting.device = "h200";
  question.kernel = chosen(kernel);
  return question;
}

PassTime time_of(const CountQuestion& question) { return std::get<PassTime>(*count(question, shared_context()).time); }

KernelRate rate(double flops_per_s, bool measured) {
  KernelRate rate;
  rate.device = "h200";
  rate.head_dim = 128;
  rate.flops_per_s = flops_per_s;
  rate.tokens = 32768;
  rate.heads = 2;
  rate.measured = measured;
  rate.source = "this test";
  return rate;
}

TEST_CASE("count takes a file's tiles, and its time follows from their instructions, with the error of such times") {
  const CountAnswer answer = count(sequence(plain_kernel(), 32768, 8), shared_context());
  CHECK(answer.forward.problem.tiles.q_tile == Extents{128});
  CHECK(answer.forward.problem.tiles.kv_tile == Extents{64});
  CHECK(answer.forward.count.visited_tiles == 256 * 512);
  CHECK_FALSE(answer.kernel.forward);  // nothing that NATTEN would run
  const PassTime& time = std::get<PassTime>(*answer.time);
  CHECK(time.evidence.origin == CostOrigin::kPhysical);
  CHECK(time.evidence.interval == shared_context().catalog.physics.error_of(TransferKind::kPhysical)->interval);
  CHECK(time.high_ms > time.total_ms);
  // No more than tensor cores can do: 989.5 TFLOP/s.
  CHECK(time.total_ms > 1e3 * 4.0 * 32768 * 32768 * 128 * 8 / 989.5e12);
}

TEST_CASE("a rate that a file calls measured is the time of the launch that was measured, and no other rate is") {
  AttentionKernel kernel = plain_kernel();
  kernel.rates = {rate(400e12, true)};
  const PassTime time = time_of(sequence(kernel, 32768, 2));
  CHECK(time.evidence.origin == CostOrigin::kMeasured);
  CHECK(time.evidence.runs == 1);
  CHECK(time.total_ms == Approx(1e3 * 4.0 * 32768 * 32768 * 128 * 2 / 400e12).epsilon(0.05));
  kernel.rates = {rate(400e12, false)};
  CHECK(time_of(sequence(kernel, 32768, 2)).evidence.origin == CostOrigin::kPhysical);
}

TEST_CASE("a kernel that evaluates its mask in every tile pays for each, of a causal mask") {
  CountQuestion question = sequence(plain_kernel(), 32768, 8);
  question.causal = {true};
  question.mask_cost = 4;
  const PassTime partial = time_of(question);
  AttentionKernel every = plain_kernel();
  every.masking = KernelMasking::kVisitedTiles;
  question.kernel = chosen(every);
  const PassTime all = time_of(question);
  // 256 Q tiles: the i-th visits 2 i KV tiles of 64, of which the last two are partial.
  const double visited = 256 * 257, masked = 2 * 256;
  CHECK(all.parts.masking_ms / partial.parts.masking_ms == Approx(visited / masked).epsilon(0.05));
  question.causal = {false};
  CHECK(time_of(question).parts.masking_ms == Approx(0).margin(1e-9));
}

TEST_CASE("the longest Q tiles first leave a shorter tail than the shortest first") {
  CountQuestion question = sequence(plain_kernel(), 16384, 3);
  question.causal = {true};
  const double shortest = time_of(question).kernel_ms;
  AttentionKernel longest = plain_kernel();
  longest.longest_first = true;
  question.kernel = chosen(longest);
  CHECK(time_of(question).kernel_ms < shortest);
}

TEST_CASE("a file's head dim or element type that is not there is refused by what there is") {
  CountQuestion question = sequence(plain_kernel(), 8192, 8);
  question.setting.head_dim = 64;
  const auto missing = std::get<MissingTime>(*count(question, shared_context()).time);
  CHECK(missing.sentence.find("head dim 64") != std::string::npos);
  AttentionKernel typed = plain_kernel();
  typed.dtype = Dtype::kFp16;
  CHECK(std::holds_alternative<MissingTime>(*count(sequence(typed, 8192, 8), shared_context()).time));
  AttentionKernel elsewhere = plain_kernel();
  elsewhere.architectures = {"sm100"};
  CHECK(std::holds_alternative<MissingTime>(*count(sequence(elsewhere, 8192, 8), shared_context()).time));
  question = sequence(plain_kernel(), 8192, 8);
  question.backward = true;
  CHECK(std::holds_alternative<MissingTime>(*count(question, shared_context()).backward->time));
}

/// Backward with tiles of 64 queries and 128 keys.
AttentionKernel kernel_with_backward() {
  AttentionKernel kernel = plain_kernel();
  kernel.kv_tiles = {{.head_dim = 128, .kv_tile = 128, .stages = 2}};
  kernel.backward = shared_context().catalog.backward_kernel("fa4", shared_context().catalog.device("h200"));
  kernel.backward->name = kernel.name;
  kernel.backward->architectures = {};
  kernel.backward->tiles = {
      {{1, 128}, {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow}, {.q = 64, .kv = 128}, 1}};
  return kernel;
}

TEST_CASE("a file that describes a backward pass has its time, by its own tiles") {
  CountQuestion question = sequence(kernel_with_backward(), 16384, 16);
  question.backward = true;
  const CountAnswer answer = count(question, shared_context());
  CHECK(answer.backward->problem.tiles == TilePair{{64}, {128}});
  CHECK(answer.backward->count.visited_tiles == 256 * 128);
  const PassTime& time = std::get<PassTime>(*answer.backward->time);
  CHECK(time.ctas == 128 * 16);  // one of each KV tile of each head
  CHECK(time.evidence.origin == CostOrigin::kPhysical);
  CHECK(time.tflops_per_s < 989);  // an H200's tensor cores, bf16
  CountQuestion measured = question;
  measured.kernel = "fa4";
  measured.q_tile = measured.kv_tile = {};
  // FlashAttention-4 itself was measured there: within the error of what instructions alone tell.
  const double fa4_ms = std::get<PassTime>(*count(measured, shared_context()).backward->time).total_ms;
  CHECK(time.low_ms < fa4_ms);
  CHECK(fa4_ms < time.high_ms);
  TimeQuestion alone{.kernel = "mine", .device = "h200", .mask = answer.forward.problem.mask, .pass = Walk::kBackward};
  alone.sizes = {.heads = 16, .heads_kv = 16, .head_dim = 128, .head_dim_value = 128};
  alone.dtype = Dtype::kBf16;
  const WithKernels kernels(shared_context(), *question.kernel);
  CHECK(std::get<PassTime>(study::time(alone, kernels.get())).total_ms == time.total_ms);
}

TEST_CASE("windows of two axes have boxes of the backward pass's own tokens") {
  CountQuestion question = sequence(kernel_with_backward(), 1, 8);
  question.setting.input = {64, 64};
  question.window = {16, 16};
  question.backward = true;
  const CountAnswer answer = count(question, shared_context());
  CHECK(product(answer.backward->problem.tiles.q_tile, "q_tile") == 64);
  CHECK(product(answer.backward->problem.tiles.kv_tile, "kv_tile") == 128);
  const CountAnswer again = count(answer.question, shared_context());
  CHECK(std::get<PassTime>(*again.backward->time).total_ms == std::get<PassTime>(*answer.backward->time).total_ms);
  MaskQuestion mask;
  mask.mask.mask.rule = CausalMask{};
  mask.q_tokens = 16384;
  mask.heads = 16;
  mask.head_dim = 128;
  mask.kernel = question.kernel.value();
  mask.device = "h200";
  mask.backprop = true;
  CHECK(count_mask(mask, shared_context()).count.backward.has_value());
}

TEST_CASE("who says no element type has that of the file") {
  AttentionKernel typed = plain_kernel();
  typed.dtype = Dtype::kBf16;
  CountQuestion question = sequence(typed, 8192, 8);
  question.setting.dtype = std::nullopt;
  const CountAnswer answer = count(question, shared_context());
  CHECK(answer.question.setting.dtype == Dtype::kBf16);
  CHECK(std::holds_alternative<PassTime>(*answer.time));
}

TEST_CASE("a changed kernel of a name that ships has nothing that was measured of that one") {
  AttentionKernel changed = plain_kernel();
  changed.name = "fa2";
  CHECK(time_of(sequence(changed, 8192, 8)).evidence.origin == CostOrigin::kPhysical);
  CountQuestion shipped = sequence(plain_kernel(), 8192, 8);
  shipped.kernel = "fa2";
  CHECK(time_of(shipped).evidence.origin == CostOrigin::kMeasured);
}

TEST_CASE("measured runs of a file's kernel are fitted, and its times are then theirs") {
  CalibrateQuestion question;
  question.source = "this test";
  for (const std::int64_t tokens : {8192, 16384, 32768}) {
    KernelRun run{.kernel = "mine", .device = "h200"};
    run.input = run.window = {tokens};
    run.q_tile = {128};
    run.kv_tile = {64};
    run.heads = 8;
    run.ms = 1e3 * 4.0 * static_cast<double>(tokens * tokens) * 128 * 8 / 450e12;
    question.runs.push_back(run);
  }
  const WithKernels kernels(shared_context(), chosen(plain_kernel()));
  const CalibrateAnswer fitted = calibrate(question, kernels.get());
  REQUIRE(fitted.entries.size() == 1);
  CHECK(fitted.entries.front().kernel == "mine");
  Context with_costs = shared_context();
  with_costs.catalog.kernel_costs.insert(with_costs.catalog.kernel_costs.begin(), fitted.entries.front());
  const CountAnswer answer = count(sequence(plain_kernel(), 32768, 8), with_costs);
  const PassTime& time = std::get<PassTime>(*answer.time);
  CHECK(time.evidence.origin == CostOrigin::kMeasured);
  CHECK(time.total_ms == Approx(*question.runs.back().ms).epsilon(0.05));
}

TEST_CASE("mask and search take a file's kernel, with blocks of its tiles") {
  MaskQuestion mask;
  mask.mask.mask.rule = CausalMask{};
  mask.q_tokens = 8192;
  mask.heads = 8;
  mask.head_dim = 128;
  mask.kernel = chosen(plain_kernel());
  mask.device = "h200";
  const MaskAnswer masked = count_mask(mask, shared_context());
  CHECK(masked.count.q_tile == 128);
  CHECK(masked.count.kv_tile == 64);
  CHECK(masked.count.visited == 64 * 65);
  CHECK(std::holds_alternative<PassTime>(*masked.count.forward));
  SearchQuestion search_for;
  search_for.setting.input = {32, 32};
  search_for.setting.heads = 8;
  search_for.setting.head_dim = 128;
  search_for.setting.device = "h200";
  search_for.window = {16, 16};
  search_for.kernels = {chosen(plain_kernel()), "hopper-fna"};
  search_for.top = 50;
  const SearchAnswer found = search(search_for, shared_context());
  bool mine = false;
  for (const SearchCandidate& candidate : found.candidates) {
    if (candidate.tiles.kernel != "mine") continue;
    mine = true;
    CHECK(product(candidate.tiles.tiles.q_tile, "q_tile") == 128);
    CHECK(product(candidate.tiles.tiles.kv_tile, "kv_tile") == 64);
    CHECK(count_question(found, candidate).kernel->own);  // it can be counted again
  }
  CHECK(mine);
}

TEST_CASE("schedule takes a file that describes a backward pass, and asks for it by its member") {
  KernelScheduleQuestion question;
  question.kernel = chosen(plain_kernel());
  question.device = "h200";
  question.q_tokens = 8192;
  question.heads = 8;
  try {
    (void)kernel_schedule(question, shared_context());
    FAIL("a kernel without a backward pass was scheduled");
  } catch (const InvalidParameter& error) {
    CHECK(std::string(error.what()).find("\"backward\"") != std::string::npos);
  }
  AttentionKernel kernel = plain_kernel();
  BackwardKernel backward = shared_context().catalog.backward_kernel("fa4", shared_context().catalog.device("h200"));
  backward.name = "mine";
  backward.architectures = {};  // any
  kernel.backward = backward;
  question.kernel = chosen(kernel);
  const KernelScheduleAnswer answer = kernel_schedule(question, shared_context());
  question.kernel = "fa4";
  const KernelScheduleAnswer like = kernel_schedule(question, shared_context());
  REQUIRE(answer.ordered);
  CHECK(answer.ordered->algorithm == like.ordered->algorithm);
  CHECK(answer.tiles.q == like.tiles.q);
  CHECK_FALSE(answer.costs);  // fa4's are not its own
  CHECK(answer.missing.find("mine") != std::string::npos);
}

TEST_CASE("reuse takes launch, heads' order and type of a file, and tries other launches all the same") {
  AttentionKernel kernel = plain_kernel();
  kernel.launch = LaunchOrder::kHeadsFirst;
  kernel.longest_first = true;
  kernel.dtype = Dtype::kFp32;
  AttentionSubject subject{.seqlen = Extents{4096}, .heads = 4, .head_dim = 128, .kernel = chosen(kernel)};
  subject = launched_as_file(subject);
  CHECK(subject.launch == LaunchOrder::kHeadsFirst);
  CHECK(subject.longest_first);
  CHECK(subject.dtype == Dtype::kFp32);
  ReuseQuestion question;
  question.subject = subject;
  question.device = "h200";
  const std::int64_t k = *reuse(question, shared_context()).results.front().first.sectors.k;
  CHECK(k == 4 * 32 * (4096 * 128 * 4 / 32));  // 32 Q tiles of each head read all keys
  subject.launch = LaunchOrder::kTilesFirst;
  question.subject = subject;
  const ReuseAnswer other = reuse(question, shared_context());
  CHECK(std::get<AttentionSubject>(other.question.subject).launch == LaunchOrder::kTilesFirst);
}

TEST_CASE("a context that knows a file's kernel is not copied again") {
  const KernelChoice mine = chosen(plain_kernel());
  const WithKernels kernels(shared_context(), mine);
  CHECK(&kernels.get() != &shared_context());
  const WithKernels again(kernels.get(), mine);
  CHECK(&again.get() == &kernels.get());
  const WithKernels named(shared_context(), KernelChoice("fa2"));
  CHECK(&named.get() == &shared_context());
}

}  // namespace kernel_choice_test
