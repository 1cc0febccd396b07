#include <algorithm>
#include <cstdlib>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/study/count.hpp>

#include "../../random.hpp"
#include "../../random_values.hpp"
#include "catch.hpp"

namespace fast_path_change_test {

using namespace natten_sim;
using study::FastPathChange;

/// 4,096 tokens in a row on a B200, whose tiles are 256 queries and 128 keys.
std::optional<FastPathChange> change_for(std::int64_t window, std::int64_t stride) {
  study::CountQuestion question;
  question.setting.device = "b200";
  question.setting.input = {4096};
  question.window = {window};
  question.stride = {stride};
  return study::count(question, study::default_context()).fast_path_change;
}

// The predicate on one axis: s % tq == 0, w % tk == 0, L % s == 0, and (w/2 - s/2) % tk == 0.
TEST_CASE("a stride that misses the fast path is told") {
  REQUIRE_FALSE(change_for(1024, 256));  // 512 - 128 is a multiple of 128: nothing is masked as it is
  const auto change = change_for(1024, 200);
  REQUIRE(change);
  CHECK(change->stride == Extents{256});
  CHECK(change->window.empty());
}

TEST_CASE("a window that misses the fast path is told") {
  // 1,000 / 128 lies between 896 (448 - 128 is no multiple of 128) and 1,024.
  const auto change = change_for(1000, 256);
  REQUIRE(change);
  CHECK(change->window == Extents{1024});
  CHECK(change->stride.empty());
}

TEST_CASE("what misses by two numbers has no single change") { CHECK_FALSE(change_for(1000, 200)); }

TEST_CASE("another KV tile that the backend has is told first") {
  // Q 16x16 on a B200 has KV tiles 16x8 and 8x16. Window 32 and stride 16 on the first axis: 16 - 8 is a
  // multiple of 8 alone; on the second 48 and 16: 24 - 8 is one of 16.
  study::CountQuestion question;
  question.setting.device = "b200";
  question.setting.input = {128, 128};
  question.window = {32, 48};
  question.stride = {16, 16};
  question.q_tile = {16, 16};
  question.kv_tile = {16, 8};
  const auto change = study::count(question, study::default_context()).fast_path_change;
  REQUIRE(change);
  CHECK(change->kv_tile == Extents{8, 16});
}

TEST_CASE("a pair that differs in both tiles is told before strides and windows") {
  // A window of 18 frames is no multiple of 4, but of 2; the published run in tiles of 2x8x8 masks nothing.
  study::CountQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = "h100";
  question.window = {18, 24, 24};
  question.stride = {16, 8, 8};
  const auto change = study::count(question, study::default_context()).fast_path_change;
  REQUIRE(change);
  CHECK(change->q_tile == Extents{2, 8, 8});
  CHECK(change->kv_tile == Extents{2, 8, 8});
  CHECK(change->stride.empty());
  CHECK(change->window.empty());
}

TEST_CASE("the nearest stride that misses nothing may be the third multiple of the Q tile") {
  // Tiles of 128 and a window of 512: 256 - 128/2 is no multiple of 128, 256 - 256/2 is one.
  study::CountQuestion question;
  question.setting.device = "h100";
  question.setting.head_dim = 128;
  question.setting.input = {4096};
  question.window = {512};
  question.stride = {60};
  const auto change = study::count(question, study::default_context()).fast_path_change;
  REQUIRE(change);
  CHECK(change->stride == Extents{256});
}

/// The change for one axis in tiles that NATTEN lacks; its own, of 32 keys or more, have to divide the window too.
std::optional<FastPathChange> change_in(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile) {
  study::CountQuestion question;
  question.setting.device = "h100";
  question.setting.input = {axis.length};
  question.window = {axis.window};
  question.stride = {axis.stride};
  question.dilation = {axis.dilation};
  question.q_tile = {q_tile};
  question.kv_tile = {kv_tile};
  static const study::Context context = study::default_context();
  return study::count(question, context).fast_path_change;
}

TEST_CASE("a stride is found however far the period of a tile's halves reaches") {
  // Half of 402 is 201, half of the stride has to be a multiple of 201: strides 0, 1, 402, 403 and so on.
  const auto change = change_in({.length = 804, .window = 402, .stride = 201}, 1, 201);
  REQUIRE(change);
  CHECK(change->stride == Extents{1});  // 200 off; 402 is 201 off
}

TEST_CASE("the stride that is told is the nearest of all that would do, in tiles of any size") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  natten_sim::test::RandomValues random(seed);
  int told = 0, far = 0, none = 0;
  for (int round = 0; round < 1'500; ++round) {
    const std::int64_t kv_tile = random.whole(1, 30), q_tile = random.whole(1, 12), dilation = random.whole(1, 3);
    const std::int64_t window = kv_tile * random.whole(1, 12);
    std::int64_t length = window + random.whole(1, 2 * window);
    if (random.whole(0, 1) == 0) length = ceil_divide(length, kv_tile) * kv_tile;
    length = length * dilation + random.whole(0, dilation - 1);
    if (window < 2 || window % 32 == 0) continue;
    const AxisMask axis{.length = length, .window = window, .stride = random.whole(1, window), .dilation = dilation};
    TilingProblem problem{.mask = {axis}, .tiles = {{q_tile}, {kv_tile}}};
    if (natten_fast_path(problem)) continue;
    std::optional<std::int64_t> nearest;
    for (std::int64_t stride = 1; stride <= window; ++stride) {
      problem.mask[0].stride = stride;
      if (!natten_fast_path(problem)) continue;
      if (!nearest || std::abs(stride - axis.stride) < std::abs(*nearest - axis.stride)) nearest = stride;
    }
    const auto change = change_in(axis, q_tile, kv_tile);
    CAPTURE(axis.length, axis.window, axis.stride, axis.dilation, q_tile, kv_tile, nearest.value_or(0));
    if (!nearest) {
      CHECK((!change || change->stride.empty()));
      ++none;
      continue;
    }
    REQUIRE(change);
    REQUIRE(change->stride == Extents{*nearest});
    ++told;
    far += std::abs(*nearest - axis.stride) > 2 * kv_tile * q_tile;
  }
  CHECK(told > 100);
  CHECK(far > 10);
  CHECK(none > 100);
}

TEST_CASE("tiles that NATTEN does not have on the device are not told") {
  // 64x128 tiles of cutlass-fna run on a GB10 in 0.21.6 alone, where no pair with KV tiles of 64 tokens helps.
  study::CountQuestion question;
  question.setting.device = "gb10";
  question.setting.input = {64, 64};
  question.window = {16, 16};
  question.stride = {8, 8};
  question.q_tile = question.kv_tile = {8, 8};
  for (const char* release : {"0.21.6", "0.21.7"}) {
    question.setting.natten = release;
    const study::CountAnswer answer = study::count(question, study::default_context());
    if (!answer.fast_path_change) continue;
    study::CountQuestion changed = question;
    if (!answer.fast_path_change->q_tile.empty()) changed.q_tile = answer.fast_path_change->q_tile;
    if (!answer.fast_path_change->kv_tile.empty()) changed.kv_tile = answer.fast_path_change->kv_tile;
    CHECK_FALSE(study::count(changed, study::default_context()).kernel.refusal);
  }
}

/// A question whose strides and windows are often multiples of tiles.
study::CountQuestion random_question(natten_sim::test::RandomValues& random) {
  study::CountQuestion question;
  const char* devices[] = {"h100", "b200", "a100", "gb10"};
  question.setting.device = devices[random.whole(0, 3)];
  question.setting.head_dim = random.whole(0, 1) == 0 ? 64 : 128;
  const std::int64_t rank = random.whole(1, 3);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t unit = random.whole(0, 2) == 0 ? 1 : rank == 1 ? 64 : 8;
    const std::int64_t length = unit * random.whole(4, 12);
    const std::int64_t window = unit * random.whole((unit == 1) + 1, length / unit - 1);
    question.setting.input.push_back(length);
    question.window.push_back(window);
    question.stride.push_back(random.whole(0, 1) == 0 ? std::min(unit, window) : random.whole(1, window));
  }
  return question;
}

study::CountQuestion changed(study::CountQuestion question, const FastPathChange& change) {
  if (!change.q_tile.empty()) question.q_tile = change.q_tile;
  if (!change.kv_tile.empty()) question.kv_tile = change.kv_tile;
  if (!change.stride.empty()) question.stride = change.stride;
  if (!change.window.empty()) question.window = change.window;
  return question;
}

/// Whether any pair that NATTEN accepts for the call would do.
bool some_pair_would(const study::CountAnswer& answer, const Catalog& catalog) {
  const NattenRules& rules = catalog.natten_release({});
  TilingProblem problem = answer.forward.problem;
  NattenCall call = *answer.kernel.call;
  call.kernel_schedule.clear();
  for (const BackendTiles& entry : rules.of(*call.backend).forward) {
    if (entry.tiles.q_tile.rank() != call.input.rank()) continue;
    call.tiles = problem.tiles = entry.tiles;
    if (!refusal_of(rules, call) && natten_fast_path(problem)) return true;
  }
  return false;
}

/// Whether any stride on one axis would do.
bool some_stride_would(const TilingProblem& problem) {
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    TilingProblem other = problem;
    for (std::int64_t stride = 1; stride <= problem.mask[axis].window; ++stride) {
      other.mask[axis].stride = stride;
      if (natten_fast_path(other)) return true;
    }
  }
  return false;
}

TEST_CASE("what is told holds when it is asked again, and nothing is told where no pair and no stride would do") {
  const study::Context context = study::default_context();
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  natten_sim::test::RandomValues random(seed);
  int tiles = 0, pairs = 0, strides = 0, windows = 0, none = 0;
  // What few questions have is looked for longer.
  const auto missing = [&] { return std::min({tiles, pairs, strides, windows, none}) == 0; };
  for (int round = 0; round < 600 || (missing() && round < 20'000); ++round) {
    const study::CountQuestion question = random_question(random);
    const study::CountAnswer answer = study::count(question, context);
    if (!answer.kernel.forward || answer.kernel.forward->dense_path || answer.forward.natten_fast_path) continue;
    CAPTURE(*question.setting.device, to_string(question.setting.input), to_string(question.window),
            to_string(question.stride));
    if (!answer.fast_path_change) {
      CHECK_FALSE(some_pair_would(answer, context.catalog));
      CHECK_FALSE(some_stride_would(answer.forward.problem));
      ++none;
      continue;
    }
    const FastPathChange& change = *answer.fast_path_change;
    const study::CountAnswer again = study::count(changed(question, change), context);
    CHECK(again.forward.natten_fast_path);
    CHECK_FALSE(again.kernel.refusal);
    REQUIRE(again.kernel.forward);
    CHECK(again.kernel.forward->natten_fast_path);
    const bool of_tiles = !change.q_tile.empty() || !change.kv_tile.empty();
    CHECK(int{of_tiles} + int{!change.stride.empty()} + int{!change.window.empty()} == 1);
    if (!of_tiles) CHECK_FALSE(some_pair_would(answer, context.catalog));
    pairs += !change.q_tile.empty() && !change.kv_tile.empty();
    tiles += of_tiles;
    strides += !change.stride.empty();
    windows += !change.window.empty();
  }
  CHECK(pairs > 0);
  CHECK(tiles > 0);
  CHECK(strides > 0);
  CHECK(windows > 0);
  CHECK(none > 0);
}

}  // namespace fast_path_change_test
