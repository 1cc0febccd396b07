// What an answer takes, told before it is worked out, against what it then took: steps are counted where the token
// of cancellation is polled, bytes where memory is asked for.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <malloc.h>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/reuse_parts.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "sanitized.hpp"

namespace estimate_test {

/// Memory of this program's operator new.
struct Held {
  std::atomic<std::int64_t> now{0}, most{0};
  void add(std::int64_t bytes) {
    const std::int64_t sum = now += bytes;
    for (std::int64_t most_yet = most; sum > most_yet && !most.compare_exchange_weak(most_yet, sum);) {
    }
  }
};
constinit Held held;

}  // namespace estimate_test

#ifndef NATTEN_SIM_SANITIZED
void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  estimate_test::held.add(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  estimate_test::held.add(-static_cast<std::int64_t>(::malloc_usable_size(memory)));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
#endif

namespace estimate_test {

using namespace natten_sim;
using namespace natten_sim::study;
using test::stored_seed;

/// The token is looked at once in 64 short steps.
class CountedSteps final : public Cancellation {
 public:
  void check() override { looks_ += 64; }
  [[nodiscard]] double steps() const { return static_cast<double>(looks_); }

 private:
  std::atomic<std::int64_t> looks_{0};
};

template <typename Work>
Estimate measured(const Work& work) {
  CountedSteps token;
  const CancellationScope scope(token);
  const std::int64_t before = held.now;
  held.most = before;
  work();
  return {.steps = token.steps(), .bytes = static_cast<double>(held.most - before)};
}

constexpr double kFewSteps = 1e4, kFewBytes = 1 << 20;

/// Within a factor of two, give or take what no estimate is asked for.
void check_close(double estimated, double found, double few) {
  CHECK(estimated <= 2 * found + few);
  CHECK(found <= 2 * estimated + few);
}

void check_measured(const Estimate& estimated, const Estimate& found) {
  INFO("estimated " << estimated.steps << " steps, " << estimated.bytes << " bytes; took " << found.steps << " and "
                    << found.bytes);
  check_close(estimated.steps, found.steps, kFewSteps);
  if (!test::kSanitized) check_close(estimated.bytes, found.bytes, kFewBytes);
}

TEST_CASE("the estimate of atomic additions is within a factor of two, whatever the distribution") {
  const std::uint64_t seed = stored_seed();
  RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  for (const char* distribution : {"uniform", "zipf:0.5", "zipf:1", "zipf:1.5", "hot:7"}) {
    for (int i = 0; i < 3; ++i) {
      ScatterQuestion question;
      question.rows = std::int64_t{1} << (8 + random.below(12));
      question.updates = std::int64_t{1} << (12 + random.below(6));
      question.width = 1 + static_cast<std::int64_t>(random.below(2));
      question.source = parse_row_source("distribution", distribution);
      question.path = InstructionPath::kCas;
      question.construct = "cuda-atomicadd-bfloat16";
      question.details.addresses = true;
      INFO(distribution << ", " << question.rows << " rows, " << *question.updates << " updates");
      const Context context = default_context();
      check_measured(*estimate(question), measured([&] { (void)scatter(question, context); }));
    }
  }
}

TEST_CASE("the estimate of deformable attention is within a factor of two") {
  for (const char* name : {"B1_640_d256_L4", "B1_320x320_d64_L3_h2_p4_q3000", "B3_500x700_d32_L2_h1_p8_q900"}) {
    for (const std::int64_t l2_bytes : {std::int64_t{1} << 20, std::int64_t{1} << 30}) {
      MsdaQuestion question;
      for (const MsdaConfig& config : builtin_msda_configs()) {
        if (config.name == name) question.config = config;
      }
      if (question.config.name.empty()) question.config = *msda_config_of_shape(name);
      question.orders = {QueryOrder::kLinear, QueryOrder::kHilbert};
      question.l2_bytes = l2_bytes;
      INFO(name << ", L2 of " << l2_bytes);
      const Context context = default_context();
      check_measured(estimate(question, context), measured([&] { (void)msda(question, context); }));
    }
  }
}

TEST_CASE("the estimate of a reuse is within a factor of two at every fidelity") {
  const std::uint64_t seed = stored_seed();
  RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  const std::array<ReuseMethod, 6> methods = {ReuseMethod(ClosedForm{}),
                                              LruReplay{},
                                              LruReplay{.cache = SetAssociative{}},
                                              LruReplay{.cache = FullyAssociative{}, .granularity = Granularity::kSector},
                                              TimedRun{},
                                              LruReplay{.cache = SampledLru{.rate = 0.3}}};
  const Context context = default_context();
  for (std::size_t method = 0; method < methods.size(); ++method) {
    for (int i = 0; i < 3; ++i) {
      ReuseQuestion question;
      question.device = "h200";
      question.method = methods[method];
      const auto size = static_cast<std::int64_t>(random.below(4));
      INFO("method " << method << ", size " << size << ", " << i);
      if (method < 5 && i < 2) {
        AttentionSubject subject{.seqlen = Extents{std::int64_t{8192} << (method == 2 || method == 3 ? 0 : size)}, .heads = 1};
        if (method == 3) subject.head_dim = 8;
        if (method == 4) subject.heads = 1 + size;
        if (i == 1) subject.window = Extents{4096};
        if (i == 1) question.compare = KvOrder::kSawtooth;
        question.subject = subject;
      } else {
        question.subject = StreamSubject{.bytes = std::int64_t{1} << (20 + size), .passes = 2};
        if (method == 3 || method == 4) continue;
      }
      check_measured(*estimate(question, context), measured([&] { (void)reuse(question, context); }));
    }
  }
}

/// Steps of the lower bounds that the phases of a schedule are compared with.
double steps_of_bounds(const ScheduleAnswer& answer) {
  const auto* finished = std::get_if<FinishedSchedule>(&answer.results.front().outcome);
  if (finished == nullptr) return 0;
  const ReductionOrder order =
      answer.results.front().ordered ? ReductionOrder::kPrescribed : ReductionOrder::kUnordered;
  return measured([&] {
           for (const SchedulePhase& phase : finished->plan.phases)
             (void)schedule_bounds(phase.problem, phase.costs, order);
         }).steps;
}

TEST_CASE("the estimate of a schedule is within a factor of two, whatever the algorithm") {
  const std::uint64_t seed = stored_seed();
  RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  const Context context = default_context();
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (algorithm->searches) continue;  // may meet the bound at once
    for (const bool causal : {false, true}) {
      ScheduleQuestion question;
      question.sizes = TileSizes{.q_tiles = 40 + static_cast<std::int64_t>(random.below(40))};
      if (causal) question.mask.rule = CausalMask{};
      question.heads = 4 + static_cast<std::int32_t>(random.below(30));
      question.workers = std::int32_t{132};
      question.algorithms = {algorithm->name};
      question.detail.times = causal;
      INFO(algorithm->name << (causal ? ", causal, " : ", ") << *std::get<TileSizes>(question.sizes).q_tiles << " x "
                           << question.heads);
      ScheduleAnswer answer;
      Estimate found = measured([&] { answer = schedule(question, context); });
      found.steps -= std::min(found.steps, steps_of_bounds(answer));
      check_measured(estimate(question, context), found);
    }
  }
}

TEST_CASE("a search takes no more steps and no more memory than its estimate says, twice") {
  const Context context = default_context();
  const auto searched = [](std::int64_t q_tiles, std::int32_t heads, std::int32_t workers, std::int64_t effort) {
    ScheduleQuestion question;
    question.sizes = TileSizes{.q_tiles = q_tiles};
    question.mask.rule = CausalMask{};
    question.heads = heads;
    question.workers = workers;
    question.algorithms = {"best"};
    question.effort = effort;
    question.costs.handoff = 6;
    return question;
  };
  // The last two are so small that all schedules are tried.
  for (const ScheduleQuestion& question : {searched(48, 12, 37, 0), searched(48, 12, 37, 1), searched(48, 12, 37, 4),
                                           searched(4, 2, 4, 200), searched(3, 4, 3, 100)}) {
    const Estimate estimated = estimate(question, context);
    const Estimate found = measured([&] { (void)schedule(question, context); });
    INFO("effort " << *question.effort << ": estimated " << estimated.steps << " steps, " << estimated.bytes << " bytes; took "
                   << found.steps << " and " << found.bytes);
    CHECK(found.steps <= 2 * estimated.steps + kFewSteps);
    if (!test::kSanitized) CHECK(found.bytes <= 2 * estimated.bytes + kFewBytes);
  }
}

TEST_CASE("the estimate of a count is within a factor of two, in boxes and along rows, in both passes") {
  const std::uint64_t seed = stored_seed();
  RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  const Context context = default_context();
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
  };
  for (int i = 0; i < 24; ++i) {
    CountQuestion question;
    const bool single = i % 2 == 0;
    const std::int64_t rank = between(1, 3), longest = rank == 1 ? 200'000 : rank == 2 ? 300 : 40;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      question.setting.input.push_back(between(longest / 2, longest));
      question.window.push_back(between(2, rank == 1 ? 2000 : longest / 2));
    }
    question.setting.heads = between(1, 4);
    question.backward = random.below(2) == 0;
    if (single) {
      question.tiling = Tiling::kSingleDimensional;
      question.q_tile = question.kv_tile = question.backward_q_tile = question.backward_kv_tile = Extents{64};
    } else {
      question.setting.device = random.below(2) == 0 ? "h200" : "b200";
    }
    INFO((single ? "rows of " : "boxes of ") << to_string(question.setting.input) << ", window " << to_string(question.window)
                                             << (question.backward ? ", both passes" : ""));
    check_measured(estimate(question, context), measured([&] { (void)count(question, context); }));
  }
}

TEST_CASE("the estimate of a library's kernel is within a factor of two, full and causal") {
  const Context context = default_context();
  for (const char* kernel : {"fa2", "fa4", "cudnn", "ours"}) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true}) {
        CountQuestion question;
        question.setting.input = {1 << 22};
        question.setting.device = "h200";
        question.setting.head_dim = 128;
        question.setting.heads = 4;
        question.setting.dtype = Dtype::kBf16;
        question.kernel = kernel;
        question.causal = {causal};
        question.backward = backward && std::string(kernel) != "ours";
        INFO(kernel << (causal ? ", causal" : ", full") << (backward ? ", both passes" : ""));
        check_measured(estimate(question, context), measured([&] { (void)count(question, context); }));
      }
    }
  }
}

TEST_CASE("the estimate of a causal window, which is compared with causal kernels, is within a factor of two") {
  const Context context = default_context();
  for (const char* device : {"h200", "a100"}) {
    for (const bool backward : {false, true}) {
      CountQuestion question;
      question.setting.input = {1 << 20};
      question.setting.device = device;
      question.setting.head_dim = 128;
      question.setting.heads = 4;
      question.setting.dtype = Dtype::kBf16;
      question.window = {4096};
      question.causal = {true};
      question.backward = backward;
      INFO(device << (backward ? ", both passes" : ""));
      check_measured(estimate(question, context), measured([&] { (void)count(question, context); }));
    }
  }
}

TEST_CASE("the estimate of a mask is within a factor of two, whatever its rules") {
  const Context context = default_context();
  for (const char* mask : {"causal", "full", "causal|prefix:3000", "window:700,0", "document:20000,5536,40000&causal",
                           "window:100,100|prefix:64"}) {
    for (const bool backprop : {false, true}) {
      MaskQuestion question;
      question.mask.mask = std::get<ScheduleMask>(parse_schedule_mask(mask));
      question.q_tokens = 65536;
      question.device = "h200";
      question.backprop = backprop;
      INFO(mask << (backprop ? ", both passes" : ""));
      check_measured(estimate(question, context), measured([&] { (void)count_mask(question, context); }));
    }
  }
}

/// A search takes no more than twice its estimate, and ends sooner where it can.
void check_at_most(const Estimate& estimated, const Estimate& found) {
  INFO("estimated at most " << estimated.steps << " steps, " << estimated.bytes << " bytes; took " << found.steps << " and "
                            << found.bytes);
  CHECK(estimated.at_most);
  CHECK(found.steps <= 2 * estimated.steps + kFewSteps);
  if (!test::kSanitized) CHECK(found.bytes <= 2 * estimated.bytes + kFewBytes);
}

TEST_CASE("searches, advice and plans take no more than their estimates say, twice") {
  const Context context = default_context();
  const std::vector<Extents> inputs = {{700}, {96, 96}, {24, 24, 24}, {30, 48, 80}};
  for (const Extents& input : inputs) {
    for (const SearchKind kind : {SearchKind::kBest, SearchKind::kPareto}) {
      for (const bool timed : {false, true}) {
        DevicesSearch asked;
        asked.question.setting.input = input;
        asked.question.kind = kind;
        if (timed) asked.question.setting.device = "h200";
        INFO(to_string(input) << (kind == SearchKind::kPareto ? ", front" : "") << (timed ? " by time" : ""));
        check_at_most(estimate(asked, context), measured([&] { (void)search(asked.question, context); }));
      }
    }
    AdviseQuestion advice;
    advice.setting.input = input;
    advice.devices = {"h200"};
    INFO("advice on " << to_string(input));
    check_at_most(estimate(advice, context), measured([&] { (void)advise(advice, context); }));
    PlanQuestion model;
    model.setting.input = input;
    model.setting.device = "h200";
    model.setting.attention_share = 0.5;
    check_at_most(estimate(model, context), measured([&] { (void)plan(model, context); }));
  }
}

TEST_CASE("an estimate names the option that makes the question large") {
  const Context context = default_context();
  ScheduleQuestion heads;
  heads.sizes = TileSizes{.q_tiles = 4};
  heads.heads = 100'000;
  CHECK(estimate(heads, context).option == "heads");
  CHECK(estimate(heads, context).value == "100000");
  ScheduleQuestion tiles;
  tiles.sizes = TileSizes{.q_tiles = 512};
  CHECK(estimate(tiles, context).option == "q-tiles");
  ScheduleQuestion tokens;
  tokens.sizes = TokenSizes{.q_tokens = 131072};
  CHECK(estimate(tokens, context).option == "input");
  CHECK(estimate(ScatterQuestion{.rows = 1 << 20})->option == "rows");
  ReuseQuestion stream;
  stream.subject = StreamSubject{.bytes = 1 << 20};
  stream.method = LruReplay{};
  CHECK(estimate(stream, context)->option == "stream-bytes");
  ReuseQuestion sweep;
  sweep.subject = AttentionSubject{.seqlen = SeqlenSweep{.lo = 1024, .hi = 4096, .step = 1024}};
  CHECK(estimate(sweep, context)->option == "sweep");
  CHECK(estimate(sweep, context)->value == "seqlen=1024:4096:1024");
}

TEST_CASE("what is read from a file has no estimate before it is read") {
  ReuseQuestion trace;
  trace.subject = trace_file("-");
  CHECK_FALSE(estimate(trace, default_context()));
  ScatterQuestion rows;
  rows.source = GivenRows{"mine", {}};
  CHECK_FALSE(estimate(rows));
  rows.updates = 1000;
  CHECK(estimate(rows)->steps >= 1000);
}

}  // namespace estimate_test
