// Paces from made-up intervals, and what the timed model takes from a recording of them.
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/measure/pace.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>

#include "catch.hpp"

namespace pace_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using kernels::ItemInterval;

constexpr std::int64_t kTiles = 10;  // of KV, 64 of 640 tokens each

AttentionCase example_point(int ctas_per_sm = 2) {
  AttentionCase point;
  point.problem.tokens = 640;
  point.problem.head_dim = 128;
  point.variant.q_tile = 128;
  point.variant.kv_tile = 64;
  point.variant.stages = 2;
  point.variant.ctas_per_sm = ctas_per_sm;
  return point;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

/// Items of one CTA, one after the other.
void add_cta(std::vector<ItemInterval>& intervals, std::uint32_t cta, std::uint32_t sm,
             const std::vector<std::uint64_t>& durations) {
  std::uint64_t now = 1000;
  for (const std::uint64_t duration : durations) {
    intervals.push_back({now, now + duration, cta, sm});
    now += duration;
  }
}

TEST_CASE("each CTA of an SM has its own pace, in the order of CTA numbers, first items left out") {
  std::vector<ItemInterval> intervals;
  for (std::uint32_t sm = 0; sm < 3; ++sm) {
    add_cta(intervals, sm, sm, {9000, 1000, 1000, 1000});
    add_cta(intervals, 3 + sm, sm, {9000, 1200, 1200, 1200});
  }
  const CtaPace pace = pace_of(intervals, kTiles);
  REQUIRE(pace.tile_ns.size() == 2);
  CHECK(pace.tile_ns[0] == 100);
  CHECK(pace.tile_ns[1] == 120);
  // The second CTA's last item ends after the first CTA is over: it had the SM to itself.
  CHECK(pace.items == 3 * (3 + 2));
  CHECK(pace.jitter == 0);
}

TEST_CASE("a CTA with one item counts with it: one CTA an SM, one item each") {
  std::vector<ItemInterval> intervals;
  for (std::uint32_t sm = 0; sm < 5; ++sm) add_cta(intervals, sm, sm, {700 + 10 * std::uint64_t{sm}});
  const CtaPace pace = pace_of(intervals, kTiles);
  REQUIRE(pace.tile_ns.size() == 1);
  CHECK(pace.tile_ns[0] == 72);
  CHECK(pace.items == 5);
}

TEST_CASE("jitter is what successive items differ by, whatever distinguishes SMs or interrupts one") {
  // Items of 10 tiles at 100 ns with a deviation of sigma each: |X - Y| has the median 0.9539 sigma.
  std::vector<ItemInterval> intervals;
  for (std::uint32_t sm = 0; sm < 9; ++sm) {
    const std::uint64_t base = 1000 + 50 * std::uint64_t{sm};
    add_cta(intervals, sm, sm, {5000, base, base + 20, base, base + 20, base});
  }
  add_cta(intervals, 9, 9, {5000, 1000, 90000, 1000, 1020, 1000});
  const CtaPace pace = pace_of(intervals, kTiles);
  double mean = 0;
  for (const ItemInterval& each : intervals) {
    if (each.begin_ns != 1000) mean += static_cast<double>(each.end_ns - each.begin_ns) / 50;
  }
  CHECK(near(pace.jitter, 20 / 0.9539 / mean * std::sqrt(10.0)));
}

/// Items of 2000 tiles of 100 cycles. Tiles vary by `tile`, items as a whole by `item`, and the clock changes
/// from one item to the next: cycles do not show it, nanoseconds do.
CtaPace pace_in_cycles(double tile, double item) {
  constexpr int kCtas = 40, kItems = 30, kKvTiles = 2000;
  RandomSequence random(7);
  const auto deviation = [&] { return std::sqrt(3.0) * (2 * random.unit() - 1); };
  std::vector<ItemInterval> intervals;
  for (std::uint32_t cta = 0; cta < kCtas; ++cta) {
    double cycle = 1000, ns = 1000;
    for (int i = 0; i < kItems; ++i) {
      ItemInterval each;
      each.cta = each.sm = cta;
      each.begin_cycle = static_cast<std::uint64_t>(cycle);
      each.begin_ns = static_cast<std::uint64_t>(ns);
      const double slowness = 1 + item * deviation(), begin = cycle;
      for (int t = 0; t < kKvTiles; ++t) {
        for (int mark = 0; mark < kernels::kItemMarks; ++mark) {
          if (t == kernels::kFirstMarkedTile + kernels::tiles_to_mark(mark))
            each.mark_cycles[static_cast<std::size_t>(mark)] = static_cast<std::uint64_t>(cycle);
        }
        cycle += 10000 * slowness * (1 + tile * deviation());
      }
      ns += (cycle - begin) * (i % 2 == 0 ? 0.5 : 0.6);
      each.end_cycle = static_cast<std::uint64_t>(cycle);
      each.end_ns = static_cast<std::uint64_t>(ns);
      intervals.push_back(each);
    }
  }
  return pace_of(intervals, kKvTiles);
}

/// What the timed model takes of it.
study::MeasuredPace taken(const CtaPace& pace) {
  Recording recording;
  recording.head.device.profile = "h200";
  RecordedRow row;
  row.point = example_point(1);
  row.pace = pace;
  recording.rows = {row};
  return kernel_paces(recording).at(0).pace;
}

TEST_CASE("cycles tell tiles from items, and neither is what the clock does") {
  const CtaPace tiles = pace_in_cycles(0.04, 0);
  CHECK(tiles.variation.size() == 12);  // 1, 2, 4 .. 1024 tiles and the item
  CHECK(tiles.variation.front().tiles == 1);
  CHECK(tiles.variation.back().tiles == 2000);
  CHECK(tiles.jitter > 1);  // in nanoseconds the changing clock looks like tiles that vary by all of their time
  CHECK(taken(tiles).jitter == Approx(0.04).epsilon(0.1));
  CHECK(taken(tiles).item_jitter < 0.0005);
  const study::MeasuredPace both = taken(pace_in_cycles(0.04, 0.01));
  CHECK(both.item_jitter == Approx(0.01).epsilon(0.15));
}

TEST_CASE("a tile's arrival is the median of items, each at the clock that it had") {
  // After the first item 1.6, 2 and 2.5 cycles a ns: arrivals of 400, 500 and 600 ns.
  std::vector<ItemInterval> intervals;
  add_cta(intervals, 0, 0, {9000, 1000, 1000, 1200});
  const std::vector<std::uint64_t> cycles = {18000, 1600, 2000, 3000}, arrival = {4000, 640, 1000, 1500};
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    intervals[i].begin_cycle = 7;
    intervals[i].end_cycle = 7 + cycles[i];
    intervals[i].arrival_cycles = arrival[i];
  }
  const CtaPace pace = pace_of(intervals, kTiles);
  REQUIRE(pace.arrival_ns);
  CHECK(*pace.arrival_ns == Approx(500));
  CHECK(taken(pace).arrival_ns == Approx(500));
  for (ItemInterval& each : intervals) each.arrival_cycles = 0;
  CHECK_FALSE(pace_of(intervals, kTiles).arrival_ns);
  CHECK(taken(pace_in_cycles(0.04, 0)).arrival_ns == 0);
}

TEST_CASE("what has no pace is refused: nothing, items that never had company, causal masks, streams") {
  CHECK_THROWS_AS(pace_of({}, kTiles), InvalidParameter);
  std::vector<ItemInterval> intervals;
  add_cta(intervals, 0, 0, {10, 10});
  add_cta(intervals, 1, 0, {5000});
  CHECK_THROWS_AS(pace_of(intervals, kTiles), InvalidParameter);
  Bench bench{kernels::GpuInfo{}};  // refused before a GPU is asked for
  AttentionCase causal = example_point();
  causal.problem.causal = true;
  CHECK_THROWS_AS(causal.pace(bench), InvalidParameter);
  CHECK_FALSE(StreamCase{}.has_pace());
  CHECK_THROWS_AS(StreamCase{}.pace(bench), InvalidParameter);
}

RecordedRow paced_row(int ctas_per_sm, std::vector<double> tile_ns, double jitter) {
  RecordedRow row;
  row.point = example_point(ctas_per_sm);
  row.pace = CtaPace{std::move(tile_ns), jitter, 9};
  return row;
}

TEST_CASE("a kernel's pace is its SM's rate, a lone CTA's share of it, and how unequal its CTAs are") {
  Recording recording;
  recording.head.device.profile = "h200";
  recording.rows = {paced_row(2, {100, 120}, 0.03), paced_row(1, {80}, 0.9)};
  const std::vector<KernelPace> paces = kernel_paces(recording);
  REQUIRE(paces.size() == 2);
  CHECK(paces[0].variant.ctas_per_sm == 2);
  const double rate = 128 * 64 / 100.0 + 128 * 64 / 120.0;
  CHECK(near(paces[0].pace.pairs_per_ns, rate));
  CHECK(near(paces[0].pace.lone_share, 128 * 64 / 80.0 / rate));
  CHECK(near(paces[0].pace.slot_skew, 20 / 110.0));
  CHECK(paces[0].pace.jitter == 0.03);
  CHECK(paces[1].pace.lone_share == 1);
  CHECK(paces[1].pace.slot_skew == 0);
  CHECK(paces[1].pace.jitter == 0.5);  // the most that the model takes
  recording.rows.pop_back();      // without a lone CTA
  CHECK_THROWS_AS(kernel_paces(recording), MalformedData);
}

TEST_CASE("paces survive a recording, and damaged ones are refused") {
  Recording recording;
  recording.head.suite = "pace";
  recording.head.device = {"GPU", "h200", 132, 1, 1, "9.0"};
  recording.rows = {paced_row(2, {100, 120.5}, 0.03), paced_row(1, {80}, 0.02)};
  recording.rows[0].pace->arrival_ns = 512.5;
  const std::string text = recording_json(recording);
  const Recording again = parse_recording(text, "r.json");
  REQUIRE(again.rows.at(0).pace);
  CHECK(again.rows[0].pace->tile_ns == std::vector<double>{100, 120.5});
  CHECK(again.rows[0].pace->jitter == 0.03);
  CHECK(again.rows[0].pace->items == 9);
  CHECK(again.rows[0].pace->arrival_ns == 512.5);
  CHECK_FALSE(again.rows[1].pace->arrival_ns);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"[100.0,120.5]", "[]"},
                                                        {"[100.0,120.5]", "[100.0,-1]"},
                                                        {"[100.0,120.5]", "[100.0,\"x\"]"},
                                                        {"\"jitter\":0.03", "\"jitter\":-0.1"},
                                                        {"\"items\":9", "\"items\":0"},
                                                        {"\"arrival_ns\":512.5", "\"arrival_ns\":0"},
                                                        {"\"items\":9", "\"items\":9,\"more\":1"}}) {
    std::string damaged = text;
    const std::size_t at = damaged.find(from);
    INFO(from << " -> " << to);
    REQUIRE(at != std::string::npos);
    damaged.replace(at, from.size(), to);
    CHECK_THROWS_AS(parse_recording(damaged, "r.json"), MalformedData);
  }
}

TEST_CASE("the shipped paces have every kernel that is built, with all the CTAs that fit an SM") {
  for (const kernels::AttentionTiles& tiles : kernels::attention_tiles()) {
    INFO(tiles.head_dim << ": " << tiles.q_tile << "x" << tiles.kv_tile << "x" << tiles.stages);
    bool found = false;
    for (const KernelPace& pace : builtin_paces()) {
      found = found || (pace.problem.head_dim == tiles.head_dim && pace.variant.q_tile == tiles.q_tile &&
                        pace.variant.kv_tile == tiles.kv_tile && pace.variant.stages == tiles.stages &&
                        pace.variant.ctas_per_sm == tiles.max_ctas_per_sm);
    }
    CHECK(found);
  }
}

}  // namespace pace_test
