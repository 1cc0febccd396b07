// study::reuse as a program or Python calls it. Expected numbers follow from formulas beside them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/reuse.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace reuse_test {

using namespace natten_sim;
using namespace natten_sim::study;
using natten_sim::test::shared_context;

ReuseQuestion attention(std::int64_t seqlen, std::int64_t capacity, bool causal = false) {
  ReuseQuestion question;
  question.subject = AttentionSubject{.seqlen = Extents{seqlen}, .causal = causal, .workers = 4};
  question.capacity_bytes = capacity;
  return question;
}

ReuseResult ask(const ReuseQuestion& question) { return reuse(question, shared_context()).results.front().first; }

/// The parameter of the error that the question is refused with.
std::string refused(const ReuseQuestion& question) {
  try {
    (void)reuse(question, shared_context());
  } catch (const Error& error) {
    return error.parameter();
  }
  return "nothing";
}

TEST_CASE("study: sectors of dense attention are 2 S r + 2 ceil(S/T) S r") {
  const std::int64_t s = 32768, r = 64 * 2 / 32, tiles = s / 128;
  const ReuseResult result = ask(attention(s, std::int64_t{1} << 40));
  CHECK(result.sectors.total == 2 * s * r + 2 * tiles * s * r);
  CHECK(result.sectors.q == s * r);
  CHECK(result.sectors.k == tiles * s * r);
  CHECK(result.cold_sectors == 4 * s * r);
  // All of it fits: Q, K and V are read once, O is written once.
  CHECK(result.miss_sectors == 4 * s * r);
  CHECK(result.dram_read_bytes == 3 * s * 128);
  CHECK(result.dram_write_bytes == s * 128);
}

TEST_CASE("study: loads and stores are apart, and together they are the misses") {
  ReuseQuestion question = attention(8192, 300'000);
  for (const ReuseMethod& method : {ReuseMethod(ClosedForm{}), ReuseMethod(LruReplay{}),
                                    ReuseMethod(LruReplay{.cache = SetAssociative{}})}) {
    question.method = method;
    const ReuseResult result = ask(question);
    REQUIRE(result.miss_sectors);
    CHECK(*result.dram_write_bytes == 8192 * 128);
    CHECK(*result.dram_read_bytes + *result.dram_write_bytes == *result.miss_sectors * 32);
  }
}

TEST_CASE("study: formula and replay give the same numbers in every order") {
  ReuseQuestion question = attention(16384, 1'000'000);
  question.details = {.mean_distance = true, .histogram = true};
  for (const KvOrder order : values_of<KvOrder>()) {
    question.order = order;
    question.method = ClosedForm{};
    const ReuseResult closed = ask(question);
    question.method = LruReplay{};
    const ReuseResult replayed = ask(question);
    INFO(to_string(order));
    CHECK(closed.miss_sectors == replayed.miss_sectors);
    CHECK(closed.dram_read_bytes == replayed.dram_read_bytes);
    CHECK(std::abs(*closed.mean_distance_bytes / *replayed.mean_distance_bytes - 1) < 1e-12);
    REQUIRE(closed.histogram.size() == replayed.histogram.size());
    for (std::size_t i = 0; i < closed.histogram.size(); ++i)
      CHECK(closed.histogram[i].count == replayed.histogram[i].count);
  }
}

TEST_CASE("study: what is not asked for is not in the answer") {
  for (const ReuseMethod& method : {ReuseMethod(ClosedForm{}), ReuseMethod(LruReplay{})}) {
    ReuseQuestion question = attention(8192, 300'000);
    question.method = method;
    const ReuseResult plain = ask(question);
    CHECK(plain.histogram.empty());
    CHECK(plain.curve.empty());
    CHECK_FALSE(plain.mean_distance_bytes);
    CHECK_FALSE(plain.first_noncompulsory_seqlen);
    question.details = {
        .mean_distance = true, .histogram = true, .curve = true, .first_noncompulsory_seqlen = true};
    const ReuseResult full = ask(question);
    CHECK_FALSE(full.histogram.empty());
    CHECK_FALSE(full.curve.empty());
    CHECK(full.mean_distance_bytes);
    CHECK(full.first_noncompulsory_seqlen);
    CHECK(full.miss_sectors == plain.miss_sectors);
  }
}

TEST_CASE("study: permutations up and down are the sawtooth, and keep their name") {
  ReuseQuestion question = attention(512, 70'000);
  question.method = LruReplay{};
  question.order = OwnOrder{"mine", KvPermutations{{{0, 1, 2, 3}, {3, 2, 1, 0}}}};
  question.compare = KvOrder::kSawtooth;
  const ReuseComparison both = reuse(question, shared_context()).results.front();
  CHECK(both.first.miss_sectors == both.second->miss_sectors);
  CHECK(name_of(*both.first.order) == "mine");
  question.order = OwnOrder{"short", KvPermutations{{{0, 1, 2}}}};
  CHECK(refused(question) == "order");
}

TEST_CASE("study: best is proved for dense attention, else simulated, else refused") {
  ReuseQuestion question = attention(8192, 400'000);
  question.order = BestOrder{};
  CHECK(name_of(*ask(question).order) == "sawtooth");
  question = attention(8192, 400'000, true);
  question.method = LruReplay{};
  question.order = BestOrder{};
  const ReuseResult best = ask(question);
  for (const KvOrder order : values_of<KvOrder>()) {
    question.order = order;
    CHECK(*best.miss_sectors <= *ask(question).miss_sectors);
  }
  question.order = BestOrder{};
  question.method = ClosedForm{};
  CHECK(refused(question) == "order");
}

TEST_CASE("study: a stream of n sectors in front of c misses p n cyclic and n + (p-1)(n-c) in a sawtooth") {
  const std::int64_t n = 100, p = 4, c = 10;
  for (const ReuseMethod& method : {ReuseMethod(ClosedForm{}), ReuseMethod(LruReplay{}),
                                    ReuseMethod(LruReplay{.cache = SetAssociative{.ways = c}})}) {  // one set
    ReuseQuestion question;
    question.subject = StreamSubject{.bytes = n * 32, .passes = p, .workers = 3};
    question.capacity_bytes = c * 32;
    question.method = method;
    question.compare = KvOrder::kSawtooth;
    const ReuseComparison both = reuse(question, shared_context()).results.front();
    CHECK(both.first.sectors.total == 3 * p * n);
    CHECK(both.first.miss_sectors == p * n);
    CHECK(both.second->miss_sectors == n + (p - 1) * (n - c));
    CHECK(both.second->dram_read_bytes == (n + (p - 1) * (n - c)) * 32);
    CHECK(both.second->dram_write_bytes == 0);
  }
}

TEST_CASE("study: a trace is whatever feeds accesses") {
  // Sectors 0 1 2 0: the last is at distance 3 sectors.
  ReuseQuestion question;
  question.subject = TraceSubject{"mine", [](const auto& visit, const auto&) {
                                    visit({0, 0});
                                    visit({32, 64});
                                    visit({1, 1});
                                  }};
  for (const std::int64_t capacity : {96, 95}) {
    question.capacity_bytes = capacity;
    const ReuseResult result = ask(question);
    CHECK(result.sectors.total == 4);
    CHECK(result.cold_sectors == 3);
    CHECK(result.miss_sectors == (capacity == 96 ? 3 : 4));
    CHECK_FALSE(result.order);
    CHECK_FALSE(result.dram_write_bytes);
  }
  question.method = ClosedForm{};
  CHECK(refused(question) == "fidelity");
  question.method = LruReplay{};
  question.order = KvOrder::kCyclic;
  CHECK(refused(question) == "order");
}

TEST_CASE("study: the answer's question has every default, and asks the same again") {
  ReuseQuestion question;
  question.subject = AttentionSubject{.seqlen = Extents{16384}, .head_dim = 128, .kernel = "fa2"};
  question.device = "h200";
  question.method = TimedRun{};
  const ReuseAnswer first = reuse(question, shared_context());
  const auto& subject = std::get<AttentionSubject>(first.question.subject);
  CHECK(*subject.q_tile == Extents{128});
  CHECK(*subject.kv_tile == Extents{64});
  CHECK(subject.schedule == CtaSchedule::kGrid);
  CHECK(subject.workers == 2 * 132);
  CHECK(name_of(*first.question.order) == "descending");
  CHECK(std::get<TimedRun>(*first.question.method).jitter == 0.012);
  CHECK(first.capacity_source == CapacitySource::kEffective);
  const ReuseAnswer second = reuse(first.question, shared_context());
  CHECK(second.results.front().first.dram_read_bytes == first.results.front().first.dram_read_bytes);
  CHECK(second.results.front().first.time_ns == first.results.front().first.time_ns);
}

TEST_CASE("study: a sweep is its lengths, windows cut to each") {
  ReuseQuestion question = attention(1, 500'000, true);
  auto& subject = std::get<AttentionSubject>(question.subject);
  subject.seqlen = SeqlenSweep{1024, 4096, 1024};
  subject.window = Extents{2048};
  question.method = LruReplay{};
  const ReuseAnswer sweep = reuse(question, shared_context());
  REQUIRE(sweep.results.size() == 4);
  for (const ReuseComparison& at : sweep.results) {
    subject.seqlen = Extents{at.seqlen.value()};
    subject.window = Extents{std::min<std::int64_t>(2048, *at.seqlen)};
    CHECK(ask(question).miss_sectors == at.first.miss_sectors);
  }
  subject.seqlen = SeqlenSweep{9, 2, 1};
  CHECK(refused(question) == "sweep");
  subject.seqlen = SeqlenSweep{1, 100'000, 1};
  CHECK(refused(question) == "sweep");
}

TEST_CASE("study: questions that contradict themselves are refused by the member's name") {
  ReuseQuestion timed = attention(4096, 1000);
  timed.method = TimedRun{};
  CHECK(refused(timed) == "device");
  timed.device = "gb10";  // its bandwidths are not known
  CHECK(refused(timed) == "device");
  ReuseQuestion ways = attention(4096, 1000);
  ways.capacity_bytes.reset();
  ways.method = LruReplay{.cache = SetAssociative{.ways = 8}};
  CHECK(refused(ways) == "ways");
  ReuseQuestion sampled = attention(4096, 1000);
  sampled.method = LruReplay{.cache = SampledLru{0.5}};
  CHECK(refused(sampled) == "sample");
  CHECK(refused(attention(4096, 0)) == "l2-bytes");
  ReuseQuestion nothing;
  CHECK(refused(nothing) == "seqlen");
  ReuseQuestion empty;
  empty.subject = StreamSubject{};
  CHECK(refused(empty) == "stream-bytes");
}

TEST_CASE("study: a device that the caller adds to the catalog is known") {
  Context mine = default_context();
  Device device = mine.catalog.device("h200");
  device.name = "mine";
  mine.catalog.devices.push_back(device);
  ReuseQuestion question = attention(16384, 1'000'000);
  question.capacity_bytes.reset();
  question.device = "mine";
  const ReuseAnswer answer = reuse(question, mine);
  CHECK(answer.device->name == "mine");
  CHECK(answer.question.sms == 132);
  CHECK(refused(question) == "device");  // the built-in catalog does not have it
}

/// Numbers of `device` that an answer says nobody measured.
std::vector<std::string> assumed(ReuseQuestion question, const Device& device) {
  Context mine = default_context();
  mine.catalog.devices = {device};
  question.device = device.name;
  question.capacity_bytes = 1'000'000;
  return reuse(question, mine).assumed_numbers;
}

TEST_CASE("a timed answer of tiles that no memory holds has one stage, as that of tiles a little too large") {
  const auto time_of = [](std::int64_t tokens) {
    ReuseQuestion question;
    question.subject = AttentionSubject{.seqlen = Extents{1024}, .kv_tile = Extents{tokens}};
    question.device = "h200";
    question.method = TimedRun{};
    return *reuse(question, default_context()).results.front().first.time_ns;
  };
  // 228 KiB hold fewer than 2048 tokens of K and V of 128 bytes each; 2^60 of them overflow 64 bits.
  CHECK(time_of(std::int64_t{1} << 60) == time_of(2048));
}

TEST_CASE(
    "study: a timed answer names the tail of DRAM's latency and the peak rate where nobody measured them") {
  Device device = shared_context().catalog.device("h200");
  device.l2.ways->measured = true;  // so that all numbers are
  ReuseQuestion question = attention(1024, 0);
  question.method = TimedRun{};
  CHECK(assumed(question, device).empty());
  device.dram_tile_p90_ns->measured = false;
  device.dram_tile_p99_ns.reset();  // the quantile before stands in
  device.dram_tile_p999_ns->measured = false;
  device.dense_bf16_flops_per_s->measured = false;
  const std::vector<std::string> tail = {"dram_tile_p90_ns", "dram_tile_p99_ns", "dram_tile_p999_ns"};
  std::vector<std::string> both = tail;
  both.emplace_back("dense_bf16_flops_per_s");
  CHECK(assumed(question, device) == both);

  ReuseQuestion paced = question;  // the peak is not read
  paced.method = TimedRun{.pace = MeasuredPace{.pairs_per_ns = 1}};
  CHECK(assumed(paced, device) == tail);
  ReuseQuestion of_kernel = question;
  auto& subject = std::get<AttentionSubject>(of_kernel.subject);
  subject.kernel = "fa2";
  subject.head_dim = 128;
  // Of its pace only the rate and a lone CTA's share were measured (data/attention-kernels.json).
  std::vector<std::string> borrowed = tail;
  for (const char* number : {"slot_skew", "jitter", "score_share", "arrival_ns"})
    borrowed.push_back(std::string(number) + " of fa2");
  CHECK(assumed(of_kernel, device) == borrowed);
  of_kernel.method = TimedRun{.jitter = 0.01};  // the question says it
  std::erase(borrowed, "jitter of fa2");
  CHECK(assumed(of_kernel, device) == borrowed);
  of_kernel.method = TimedRun{.pace = MeasuredPace{.pairs_per_ns = 1}};
  CHECK(assumed(of_kernel, device) == tail);
  ReuseQuestion in_step = question;  // nothing takes time
  in_step.method = LruReplay{};
  CHECK(assumed(in_step, device).empty());
}

AttentionSubject under(const std::string& mask) {
  AttentionSubject subject{.heads = 2, .workers = 4};
  subject.mask.emplace().mask = std::get<ScheduleMask>(parse_schedule_mask(mask));
  return subject;
}

TEST_CASE("study: a given mask is read as the same mask by its own name is, in every way of counting") {
  ReuseQuestion named = attention(4096, 1'000'000, true), given = named;
  std::get<AttentionSubject>(named.subject).heads = 2;
  AttentionSubject subject = under("causal");
  subject.seqlen = Extents{4096};
  given.subject = subject;
  given.device = named.device = "h200";
  for (const ReuseMethod& method : {ReuseMethod(LruReplay{}), ReuseMethod(TimedRun{})}) {
    named.method = given.method = method;
    const ReuseResult a = ask(named), b = ask(given);
    CHECK(a.sectors.total == b.sectors.total);
    CHECK(a.dram_read_bytes == b.dram_read_bytes);
    CHECK(a.time_ns == b.time_ns);
  }
}

TEST_CASE("study: documents and blocks bring their tokens, and a document reads only its own keys") {
  ReuseQuestion question = attention(1, std::int64_t{1} << 40);
  question.subject = under("document:1024,512");
  const ReuseAnswer answer = reuse(question, shared_context());
  CHECK(std::get<Extents>(std::get<AttentionSubject>(answer.question.subject).seqlen) == Extents{1536});
  const std::int64_t row = 64 * 2 / 32;  // sectors
  CHECK(answer.results.front().first.sectors.k == 2 * (8 * 1024 + 4 * 512) * row);  // Q tiles of 128, two heads
  // What was asked is asked again with the answer's question.
  CHECK(ask(answer.question).sectors.total == answer.results.front().first.sectors.total);
}

TEST_CASE("study: blocks hold the tiles of a kernel, and each head of a batch has its own") {
  GivenMask mask;
  mask.mask.rule = BlockMask{4, 2, {TileWork::kFull, TileWork::kNone, TileWork::kNone, TileWork::kPartial,  // head 0
                                    TileWork::kNone, TileWork::kNone, TileWork::kFull, TileWork::kFull}};
  mask.masks = 2;
  mask.q_tile = mask.kv_tile = 256;
  AttentionSubject subject{.heads = 2, .head_dim = 128, .kernel = "fa2", .workers = 4};
  subject.mask = mask;
  ReuseQuestion question = attention(1, std::int64_t{1} << 40);
  question.subject = subject;
  const ReuseResult result = ask(question);
  const std::int64_t row = 128 * 2 / 32;
  // Q tiles of 128: two a block, each reads the 256 keys of the blocks of its row.
  CHECK(result.sectors.k == 2 * (256 + 256 + 0 + 512) * row);
  CHECK(result.cold_sectors == (4 * 512 + 2 * 512 + 2 * 512) * row);  // Q and O; K and V, all of which some row reads
  subject.mask->kv_tile = 96;
  question.subject = subject;
  CHECK(refused(question) == "kv-tile");
}

TEST_CASE("study: what a given mask stands in for is refused beside it") {
  const auto refused_with = [](auto change) {
    AttentionSubject subject = under("causal");
    subject.seqlen = Extents{1024};
    change(subject);
    ReuseQuestion question = attention(1, 1'000'000);
    question.subject = subject;
    return refused(question);
  };
  CHECK(refused_with([](AttentionSubject&) {}) == "nothing");
  CHECK(refused_with([](AttentionSubject& s) { s.window = Extents{64}; }) != "nothing");
  CHECK(refused_with([](AttentionSubject& s) { s.causal = true; }) != "nothing");
  CHECK(refused_with([](AttentionSubject& s) { s.seqlen = SeqlenSweep{1024, 2048, 1024}; }) != "nothing");
  CHECK(refused_with([](AttentionSubject& s) { s.seqlen = Extents{32, 32}; s.q_tile = s.kv_tile = Extents{8, 8}; }) == "seqlen");
  CHECK(refused_with([](AttentionSubject& s) { s.seqlen = Extents{}; }) == "seqlen_q");
}

}  // namespace reuse_test
