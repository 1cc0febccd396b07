// reuse with causal axes that differ, against the tiles that the mask's rule visits, one visit at a time.
#include <algorithm>
#include <random>
#include <string>

#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/study/reuse.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace causal_axes_test {

using namespace natten_sim;
using namespace natten_sim::study;

constexpr std::int64_t kRowBytes = 64, kSector = 32;  // head dim 32 of fp16
constexpr int kProblems = 250;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random_);
  }

 private:
  std::mt19937_64 random_;
};

/// One head with as many axes as `rank`, whose causal flags are not all the same.
AttentionSubject draw_subject(Draw& draw, std::size_t rank) {
  AttentionSubject subject{.window = Extents(), .head_dim = kRowBytes / 2, .q_tile = Extents(), .kv_tile = Extents()};
  Extents seqlen;
  PerAxis<bool> causal;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t length = draw.between(1, 12);
    seqlen.push_back(length);
    // Every third axis is dense.
    const std::int64_t window = draw.between(0, 2) == 0 ? length : draw.between(1, length);
    subject.window->push_back(window);
    subject.stride.push_back(draw.between(1, window));
    subject.q_tile->push_back(draw.between(1, 5));
    subject.kv_tile->push_back(draw.between(1, 5));
    causal.push_back(draw.between(0, 1) == 1);
  }
  causal[rank - 1] = !causal[0];
  subject.seqlen = seqlen;
  subject.causal = causal;
  subject.workers = 1;
  return subject;
}

TilingProblem tiling_of(const AttentionSubject& subject) {
  return {.mask = make_mask(std::get<Extents>(subject.seqlen), *subject.window, subject.stride, {},
                            std::get<PerAxis<bool>>(subject.causal)),
          .tiles = {*subject.q_tile, *subject.kv_tile}};
}

/// Rows of the KV tiles of all visits, a tile at the end of an axis with its own rows only.
std::int64_t visited_rows(const TilingProblem& problem) {
  std::int64_t rows = 0;
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    std::int64_t tile = 1;
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis)
      tile *= std::min(problem.tiles.kv_tile[axis], problem.mask[axis].length - visit.kv_origin[axis]);
    rows += tile;
  });
  return rows;
}

std::string described(const TilingProblem& problem) {
  std::string text = to_string(input_of(problem.mask)) + " window " + to_string(window_of(problem.mask)) +
                     " stride " + to_string(stride_of(problem.mask)) + " tiles " +
                     to_string(problem.tiles.q_tile) + " " + to_string(problem.tiles.kv_tile) + " causal ";
  for (const AxisMask& axis : problem.mask) text += axis.causal ? "1" : "0";
  return text;
}

ReuseResult answered(const AttentionSubject& subject, const ReuseMethod& method, std::int64_t capacity) {
  static const Context kContext = default_context();
  ReuseQuestion question;
  question.subject = subject;
  question.device = "h200";
  question.capacity_bytes = capacity;
  question.method = method;
  const ReuseAnswer answer = reuse(question, kContext);
  CHECK(std::get<AttentionSubject>(answer.question.subject).causal == subject.causal);
  return answer.results.front().first;
}

/// Every method counts the sectors of what is visited, and a walk behind a cache of one byte misses them all:
/// one worker reads no tile twice in a row.
void check_sectors(const AttentionSubject& subject) {
  const TilingProblem problem = tiling_of(subject);
  INFO(described(problem));
  const std::int64_t row = kRowBytes / kSector;
  const std::int64_t tokens = product(input_of(problem.mask), "tokens"), rows = visited_rows(problem);
  for (const ReuseMethod& method : {ReuseMethod(ClosedForm{}), ReuseMethod(LruReplay{}),
                                    ReuseMethod(LruReplay{.granularity = Granularity::kSector}),
                                    ReuseMethod(TimedRun{.pace = MeasuredPace{.pairs_per_ns = 100}})}) {
    INFO(to_string(fidelity_of(method)));
    const ReuseResult result = answered(subject, method, 1);
    REQUIRE(result.sectors.q == tokens * row);
    REQUIRE(result.sectors.k == rows * row);
    REQUIRE(result.sectors.v == rows * row);
    REQUIRE(result.sectors.o == tokens * row);
    REQUIRE(result.sectors.total == 2 * (tokens + rows) * row);
    REQUIRE(result.cold_sectors == 4 * tokens * row);
    // No formula knows such a mask, so it says none.
    if (std::holds_alternative<ClosedForm>(method)) {
      REQUIRE_FALSE(result.miss_sectors);
    } else {
      REQUIRE(result.miss_sectors == result.sectors.total);
    }
    // All of it fits: everything is read or written once.
    REQUIRE(answered(subject, method, std::int64_t{1} << 30).miss_sectors == 4 * tokens * row);
  }
}

TEST_CASE("reuse of causal axes that differ reads the tiles that the mask visits, in every fidelity") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  for (int i = 0; i < kProblems; ++i) check_sectors(draw_subject(draw, 2 + static_cast<std::size_t>(i % 2)));
}

TEST_CASE("flags that agree are the flag alone: the same question after defaults and the same answer") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  for (int i = 0; i < kProblems; ++i) {
    const std::size_t rank = 2 + static_cast<std::size_t>(i % 2);
    AttentionSubject subject = draw_subject(draw, rank);
    const bool every = i % 4 < 2;
    ReuseQuestion question;
    question.capacity_bytes = draw.between(1, 4096);
    question.method = LruReplay{};
    subject.causal = PerAxis<bool>(rank, every);
    question.subject = subject;
    const ReuseAnswer flags = reuse(question, default_context());
    subject.causal = every;
    question.subject = subject;
    const ReuseAnswer alone = reuse(question, default_context());
    REQUIRE(std::get<AttentionSubject>(flags.question.subject).causal == CausalAxes(every));
    REQUIRE(flags.results.front().first.sectors.total == alone.results.front().first.sectors.total);
    REQUIRE(flags.results.front().first.miss_sectors == alone.results.front().first.miss_sectors);
  }
}

TEST_CASE("a single causal flag stands for every axis, and two do not fit three axes") {
  CHECK(causal_axes({true}) == CausalAxes(true));
  CHECK(causal_axes({true, false}) == CausalAxes(PerAxis<bool>{true, false}));
  ReuseQuestion question;
  question.subject = AttentionSubject{.seqlen = Extents{4, 4, 4},
                                      .causal = PerAxis<bool>{true, false},
                                      .q_tile = Extents{2, 2, 2},
                                      .kv_tile = Extents{2, 2, 2}};
  CHECK_THROWS_AS(reuse(question, default_context()), InvalidParameter);
}

}  // namespace causal_axes_test
