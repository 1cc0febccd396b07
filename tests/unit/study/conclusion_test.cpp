// What answers come down to: every gain is that of asking the model once more, which these tests do by
// themselves.
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/study/conclusion/count.hpp>
#include <natten_sim/study/conclusion/msda.hpp>
#include <natten_sim/study/conclusion/reuse.hpp>
#include <natten_sim/study/conclusion/schedule.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace conclusion_test {

using namespace natten_sim;
using study::CountLever;
using natten_sim::test::shared_context;

study::CountQuestion video(const char* device) {
  study::CountQuestion question;
  question.setting.preset = "hunyuan-video";
  if (device != nullptr) question.setting.device = device;
  question.window = {18, 24, 24};
  return question;
}

double forward_ms(const study::CountAnswer& answer) {
  return std::get<study::PassTime>(answer.time.value()).total_ms;
}

TEST_CASE("a poor tile pair is told to change to the fastest of its backend, with that one's time") {
  const Backend& backend = shared_context().catalog.backend("blackwell-fna");
  study::CountQuestion question = video("b200");
  // The slowest and the fastest, by asking for each.
  std::optional<TilePair> slowest, fastest;
  double most = 0, least = 1e9;
  for (const TilePair& pair : tile_pairs(backend, 3, 128, Walk::kForward)) {
    question.q_tile = pair.q_tile, question.kv_tile = pair.kv_tile;
    const double ms = forward_ms(study::count(question, shared_context()));
    if (ms > most) most = ms, slowest = pair;
    if (ms < least) least = ms, fastest = pair;
  }
  REQUIRE(most > 1.02 * least);
  question.q_tile = slowest->q_tile, question.kv_tile = slowest->kv_tile;
  const study::CountAnswer answer = study::count(question, shared_context());
  const study::CountConclusion end = study::conclude(answer, shared_context());
  CHECK(end.of == study::CountGain::kTime);
  CHECK(end.before == most);
  REQUIRE(end.change.has_value());
  CHECK(end.change->lever == CountLever::kTiles);
  CHECK(end.change->tiles == *fastest);
  CHECK(end.change->after == least);
  CHECK(end.change->gain == most / least);
  CHECK(end.busiest_over_mean == Approx(static_cast<double>(answer.forward.count.max_tiles_per_walked_tile) *
                                        static_cast<double>(answer.forward.count.q_tiles) /
                                        static_cast<double>(answer.forward.count.visited_tiles)));
}

TEST_CASE("where no tile pair is faster, a stride is named, and counting with it gives the gain") {
  study::CountQuestion question = video("h200");
  const study::CountAnswer answer = study::count(question, shared_context());
  const study::CountConclusion end = study::conclude(answer, shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.change->lever == CountLever::kStride);
  question.stride = end.change->stride;
  question.q_tile = end.change->tiles.q_tile, question.kv_tile = end.change->tiles.kv_tile;
  const double after = forward_ms(study::count(question, shared_context()));
  CHECK(after == end.change->after);
  CHECK(end.change->gain == forward_ms(answer) / after);
  CHECK(end.change->gain > 1.02);
}

TEST_CASE("strides are asked with every tile pair, so that no advice leads to where a faster one is denied") {
  // Found by asking all strides of 1, one and two Q tiles by hand.
  const auto fastest = [](study::CountQuestion question) {
    const study::CountAnswer base = study::count(question, shared_context());
    double least = forward_ms(base);
    const Extents asked = question.stride;
    for (const TilePair& pair :
         tile_pairs(shared_context().catalog.backend(*base.chosen_backend), asked.rank(), 128, Walk::kForward)) {
      question.q_tile = pair.q_tile, question.kv_tile = pair.kv_tile;
      for (int choice = 0; choice < (asked.rank() == 3 ? 27 : 9); ++choice) {
        question.stride = asked;
        for (std::size_t axis = 0, rest = static_cast<std::size_t>(choice); axis < asked.rank();
             ++axis, rest /= 3)
          if (rest % 3 != 0) question.stride[axis] = static_cast<std::int64_t>(rest % 3) * pair.q_tile[axis];
        least = std::min(least, forward_ms(study::count(question, shared_context())));
      }
    }
    return least;
  };
  study::CountQuestion image;
  image.setting.preset = "flux1-dev-4k";
  image.setting.device = "h200";
  image.window = {80, 80};
  for (study::CountQuestion question : {video("h200"), image}) {
    const std::size_t rank = question.window.rank();
    for (const Extents& stride :
         {rank == 3 ? Extents{1, 1, 1} : Extents{1, 1}, rank == 3 ? Extents{4, 1, 8} : Extents{16, 1}}) {
      question.stride = stride;
      const study::CountConclusion end = study::conclude(study::count(question, shared_context()), shared_context());
      REQUIRE(end.change.has_value());
      CHECK(end.change->lever == CountLever::kStride);
      CHECK(end.change->after <= fastest(question));
    }
  }
}

TEST_CASE("advice rests on no weaker times than the answer: FlexAttention keeps blocks of the size that was timed") {
  study::CountQuestion question = video("h200");
  question.kernel = "flexattention";
  const TilePair own = study::count(question, shared_context()).forward.problem.tiles;
  question.q_tile = question.kv_tile = {1, 16, 8};  // a poor box for this window
  const study::CountConclusion end = study::conclude(study::count(question, shared_context()), shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.change->lever == CountLever::kTiles);
  CHECK(end.change->tiles == own);
  question.q_tile = own.q_tile, question.kv_tile = own.kv_tile;
  const study::CountConclusion best = study::conclude(study::count(question, shared_context()), shared_context());
  if (best.change) CHECK(product(best.change->tiles.q_tile, "q_tile") == 128);
}

TEST_CASE("without a device only Q tiles of one size are compared, by the pairs that they multiply") {
  study::CountQuestion question = video(nullptr);
  const study::CountAnswer answer = study::count(question, shared_context());
  const study::CountConclusion end = study::conclude(answer, shared_context());
  CHECK(end.of == study::CountGain::kPairs);
  CHECK(end.before == static_cast<double>(answer.forward.count.mma_pairs));
  REQUIRE(end.change.has_value());
  question.q_tile = end.change->tiles.q_tile, question.kv_tile = end.change->tiles.kv_tile;
  question.stride = end.change->stride;
  const study::CountAnswer other = study::count(question, shared_context());
  CHECK(end.change->gain == Approx(static_cast<double>(answer.forward.count.mma_pairs) /
                                   static_cast<double>(other.forward.count.mma_pairs)));
}

TEST_CASE("a smaller window keeps the context that costs nothing") {
  study::CountQuestion question;
  question.setting.input = {40, 40};
  question.q_tile = {16, 8}, question.kv_tile = {16, 8};
  const study::CountConclusion end = study::conclude(study::count(question, shared_context()), shared_context());
  REQUIRE(end.change.has_value());
  REQUIRE(end.change->lever == CountLever::kWindow);
  question.stride = end.change->stride;
  const auto pairs_with = [&](const Extents& window) {
    question.window = window;
    return static_cast<double>(study::count(question, shared_context()).forward.count.mma_pairs);
  };
  CHECK(pairs_with({20, 20}) == end.change->after);
  CHECK(pairs_with(end.change->window) == end.change->after);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    Extents wider = end.change->window;
    CHECK(wider[axis] > 20);
    ++wider[axis];
    CHECK(pairs_with(wider) > end.change->after);
  }
}

TEST_CASE("half of a window of 12 is 8 where 6 visits as many tiles: 34 an axis, and 8 keeps 2.4 times the pairs") {
  // 48 tokens in tiles of 4. Inner Q tiles of windows of 6 and of 8 reach into one tile on each side, those at the
  // ends into one: 10 x 3 + 2 x 2 = 34 visits an axis.
  study::CountQuestion question;
  question.setting.input = {48, 48, 48};
  question.window = {12, 12, 12};
  question.stride = {4, 4, 4};
  question.q_tile = question.kv_tile = {4, 4, 4};
  const study::CountConclusion end = study::conclude(study::count(question, shared_context()), shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.change->lever == CountLever::kWindow);
  CHECK(end.change->window == Extents{8, 8, 8});
  CHECK(end.change->after == 34.0 * 34 * 34 * 64 * 64);
  question.stride = {1, 1, 1};
  for (const std::int64_t window : {6, 8}) {
    question.window = {window, window, window};
    const TileCount count = study::count(question, shared_context()).forward.count;
    CHECK(count.visited_tiles == 34 * 34 * 34);
    CHECK(count.attended_pairs == 48 * 48 * 48 * window * window * window);
  }
}

TEST_CASE("dense attention can only be told to take a window") {
  study::CountQuestion question;
  question.setting.input = {64};
  question.q_tile = {16}, question.kv_tile = {16};
  const study::CountConclusion end = study::conclude(study::count(question, shared_context()), shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.change->lever == CountLever::kWindow);
  CHECK(end.change->window == Extents{32});
  CHECK(end.busiest_over_mean == 1.0);
}

TEST_CASE("a stream beyond the cache is told to turn round, which saves (passes - 1) capacities") {
  study::ReuseQuestion question;
  question.subject = study::StreamSubject{.bytes = 1 << 26, .passes = 8, .workers = 4};
  question.capacity_bytes = 1 << 24;
  const study::ReuseAnswer answer = study::reuse(question, shared_context());
  const study::ReuseConclusion end = study::conclude(answer, shared_context());
  CHECK(end.limit == study::ReuseLimit::kCapacity);
  CHECK(end.read_bytes == 8LL << 26);
  CHECK(end.reads_of_cold == 8.0);
  REQUIRE(end.change.has_value());
  CHECK(end.change->order == KvOrder::kSawtooth);
  CHECK(end.change->read_bytes == (8LL << 26) - 7 * (1LL << 24));
  CHECK(end.change->gain == Approx(512.0 / (512 - 7 * 16)));
}

TEST_CASE("an order that reads less is named with the bytes that reuse() says of it") {
  study::ReuseQuestion question;
  question.subject = study::AttentionSubject{.seqlen = Extents{65536}, .heads = 2};
  question.device = "h200";
  question.capacity_bytes = 8 << 20;
  question.method = study::LruReplay{};
  const study::ReuseConclusion end = study::conclude(study::reuse(question, shared_context()), shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.asked);
  if (end.change->order) question.order = *end.change->order;
  if (end.change->launch) std::get<study::AttentionSubject>(question.subject).launch = *end.change->launch;
  CHECK(study::reuse(question, shared_context()).results.front().first.dram_read_bytes == end.change->read_bytes);
}

TEST_CASE("what fits is read once, and without a cache nothing is said of misses") {
  study::ReuseQuestion question;
  question.subject = study::AttentionSubject{.seqlen = Extents{4096}};
  study::ReuseConclusion end = study::conclude(study::reuse(question, shared_context()), shared_context());
  CHECK(end.limit == study::ReuseLimit::kNoCache);
  question.device = "h200";
  end = study::conclude(study::reuse(question, shared_context()), shared_context());
  CHECK(end.limit == study::ReuseLimit::kCompulsory);
  CHECK(end.reads_of_cold == 1.0);
  CHECK_FALSE(end.change.has_value());
}

study::ScheduleQuestion causal(std::int64_t tiles, std::int32_t heads) {
  study::ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = tiles};
  question.mask = {CausalMask{}};
  question.heads = heads;
  question.costs.compute = 7;
  question.costs.reduce = 2;
  return question;
}

TEST_CASE("a causal schedule is told to go from ascending to symmetric shift, by DASH's two formulas") {
  const std::int32_t n = 8, m = 2;
  const study::ScheduleConclusion end = study::conclude(study::schedule(causal(n, m), shared_context()));
  CHECK(end.from == "ascending");
  CHECK(end.from_makespan == m * n * 9 + (n - 1) * 2);
  CHECK(end.fastest == "symmetric-shift");
  CHECK(end.fastest_makespan == m * (n + 1) * 9 / 2);
  CHECK(end.gain == end.from_makespan / end.fastest_makespan);
}

TEST_CASE("one schedule is compared with all others, and the handoff where another wins is where it does") {
  study::ScheduleQuestion question = causal(32, 8);
  question.algorithms = {"spt"};
  const study::ScheduleConclusion end = study::conclude(study::schedule(question, shared_context()), question);
  CHECK(end.from == "spt");
  CHECK(end.fastest == "symmetric-shift");
  REQUIRE(end.flip.has_value());
  CHECK(end.flip->above);
  const auto makespan = [&](const std::string& algorithm, double handoff) {
    question.algorithms = {algorithm};
    question.costs.handoff = handoff;
    const study::ScheduleAnswer answer = study::schedule(question, shared_context());
    return std::get<study::FinishedSchedule>(answer.results.front().outcome).run.makespan;
  };
  const double step = 7.0 / 32;
  CHECK(makespan(end.flip->to, end.flip->handoff) < makespan(end.fastest, end.flip->handoff));
  CHECK(makespan(end.flip->to, end.flip->handoff - step) >= makespan(end.fastest, end.flip->handoff - step));
}

TEST_CASE("the same costs, mask and heads in a table that was made elsewhere have the same conclusion") {
  study::ScheduleQuestion question = causal(8, 2);
  question.algorithms = {"ascending"};
  const study::ScheduleAnswer made = study::schedule(question, shared_context());
  const ScheduleTable table =
      study::table_of("ascending", std::get<study::FinishedSchedule>(made.results.front().outcome));
  study::TableQuestion foreign{.table = table};
  foreign.costs = question.costs;
  const study::ScheduleConclusion end = study::conclude(study::schedule(foreign, shared_context()));
  CHECK(end.from == "table");
  CHECK(end.from_makespan == 158);
  CHECK(end.fastest == "symmetric-shift");
  CHECK(end.fastest_makespan == 81);
}

TEST_CASE("a deformable pass is told the tiling or accumulator that msda() finds faster") {
  study::MsdaQuestion question{.config = builtin_msda_configs().front()};
  question.phase = MsdaPhase::kBackward;
  question.tiling = MsdaTiling::kPoint;
  const study::MsdaAnswer answer = study::msda(question, shared_context());
  const study::MsdaConclusion end = study::conclude(answer, shared_context());
  CHECK(end.asked >= 1);
  double least = answer.passes.front().time.time_ns;
  for (const MsdaTiling tiling : values_of<MsdaTiling>()) {
    study::MsdaQuestion varied = question;
    varied.tiling = tiling;
    least = std::min(least, study::msda(varied, shared_context()).passes.front().time.time_ns);
  }
  if (end.change && end.change->tiling) CHECK(end.change->time_ns == least);
  CHECK((end.change.has_value() || least > answer.passes.front().time.time_ns / 1.02));
}

TEST_CASE("a pass whose update was asked for is told no other accumulator") {
  study::MsdaQuestion question{.config = builtin_msda_configs().front()};
  question.phase = MsdaPhase::kBackward;
  question.update = MsdaUpdate::kAtom;  // of 16 bits: fp32 has no such row in the lowering table
  const study::MsdaConclusion end = study::conclude(study::msda(question, shared_context()), shared_context());
  CHECK(end.asked == 1);  // the other tiling
}

study::ReuseQuestion timed_fa2(std::int64_t seqlen) {
  study::ReuseQuestion question;
  question.subject =
      study::AttentionSubject{.seqlen = Extents{seqlen}, .causal = true, .head_dim = 128, .kernel = "fa2"};
  question.device = "h200";
  question.method = study::TimedRun{};
  return question;
}

TEST_CASE("the interval of a timed answer is that of asking with other stages, and names what it hangs on") {
  const study::ReuseQuestion question = timed_fa2(65536);
  const study::ReuseAnswer answer = study::reuse(question, shared_context());
  const study::ReuseConclusion end = study::conclude(answer, shared_context());
  REQUIRE(end.interval);
  std::int64_t low = *answer.results.front().first.dram_read_bytes, high = low;
  for (const std::int32_t stages : {1, 2}) {  // the kernel has one
    study::ReuseQuestion varied = question;
    std::get<study::TimedRun>(*varied.method).stages = stages;
    const std::int64_t bytes = *study::reuse(varied, shared_context()).results.front().first.dram_read_bytes;
    low = std::min(low, bytes), high = std::max(high, bytes);
  }
  CHECK(end.interval->low_bytes <= low);
  CHECK(end.interval->high_bytes >= high);
  for (const study::ReuseInfluence& influence : end.interval->influences) {
    if (influence.input != "stages") continue;
    CHECK(influence.low_bytes == low);
    CHECK(influence.high_bytes == high);
  }
  CHECK(answer.assumed_numbers == std::vector<std::string>{"l2_ways",  // fitted
                                                           "slot_skew of fa2", "jitter of fa2",
                                                           "score_share of fa2", "arrival_ns of fa2"});
  CHECK_FALSE(answer.schedule_assumed);
}

TEST_CASE("a launch may start at another GPC, and after a whole turn it is itself") {
  study::ReuseQuestion question = timed_fa2(65536);
  const auto time_at = [&](std::int32_t start) {
    std::get<study::TimedRun>(*question.method).launch_start = start;
    return *study::reuse(question, shared_context()).results.front().first.time_ns;
  };
  const auto ring = static_cast<std::int32_t>(shared_context().catalog.device("h200").launch_runs->value.size()) - 1;
  CHECK(time_at(ring) == time_at(0));
  CHECK(time_at(3) != time_at(0));
}

TEST_CASE(
    "what a long answer hangs on is not asked, and the answer knows that, but formulas are asked at any "
    "length") {
  study::ReuseQuestion question;
  question.subject =
      study::AttentionSubject{.seqlen = Extents{786432}, .head_dim = 64};  // 6144^2 pairs of tiles
  question.capacity_bytes = 1 << 24;
  question.method = study::LruReplay{};
  const study::ReuseConclusion replayed = study::conclude(study::reuse(question, shared_context()), shared_context());
  CHECK_FALSE(replayed.interval);
  CHECK(replayed.interval_takes_long);
  question.method = study::ClosedForm{};
  const study::ReuseConclusion formula = study::conclude(study::reuse(question, shared_context()), shared_context());
  CHECK(formula.interval);
  CHECK_FALSE(formula.interval_takes_long);
}

TEST_CASE("an answer that hangs on an assumed schedule says so, and one with a schedule does not") {
  // Heads do not fit the cache: round-robin CTAs and free CTAs read different heads at a time.
  study::ReuseQuestion question;
  study::AttentionSubject subject{
      .seqlen = Extents{64, 64}, .window = Extents{24, 24}, .heads = 4, .head_dim = 64};
  subject.q_tile = subject.kv_tile = Extents{8, 8};
  subject.workers = 24;
  question.subject = subject;
  question.capacity_bytes = 300000;
  question.method = study::LruReplay{};
  const study::ReuseAnswer assumed = study::reuse(question, shared_context());
  CHECK(assumed.schedule_assumed);
  REQUIRE(study::conclude(assumed, shared_context()).interval);
  subject.schedule = CtaSchedule::kPersistent;
  question.subject = subject;
  const study::ReuseAnswer said = study::reuse(question, shared_context());
  CHECK_FALSE(said.schedule_assumed);
  CHECK_FALSE(study::conclude(said, shared_context()).interval);
  question.device = "gb10";
  question.capacity_bytes.reset();
  CHECK(study::reuse(question, shared_context()).assumed_numbers == std::vector<std::string>{"l2_effective_bytes"});
}

}  // namespace conclusion_test
