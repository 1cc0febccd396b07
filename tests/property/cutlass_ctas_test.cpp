// How CTAs of cutlass-fna differ and what sharing an SM makes of them, against token by token counts and a simulation.
#include <algorithm>
#include <random>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

#include "catch.hpp"

namespace cutlass_ctas_test {

using namespace natten_sim;

AxisGroup random_group(std::mt19937& random) {
  const std::int64_t length = 1 + random() % 90, window = 1 + random() % length;
  return {length, window, static_cast<std::int64_t>(1 + random() % window), random() % 3 == 0};
}

TEST_CASE("a walked tile streams what its tokens see, or are seen by", "[cutlass]") {
  std::mt19937 random(41);
  for (int sample = 0; sample < 4000; ++sample) {
    const AxisGroup group = random_group(random);
    const std::int64_t first = random() % group.length,
                       end = std::min<std::int64_t>(group.length, first + 1 + random() % 20);
    CAPTURE(sample, group.length, group.window, group.stride, group.causal, first, end);
    TokenRange forward{group.length, 0}, backward{group.length, 0};
    for (std::int64_t query = 0; query < group.length; ++query) {
      const TokenRange seen = attended_range(group, query);
      if (query >= first && query < end)
        forward = {std::min(forward.begin, seen.begin), std::max(forward.end, seen.end)};
      if (seen.begin < end && seen.end > first)
        backward = {std::min(backward.begin, query), std::max(backward.end, query + 1)};
    }
    CHECK(streamed_tokens(group, first, end, Walk::kForward) == forward);
    const TokenRange counted = streamed_tokens(group, first, end, Walk::kBackward);
    if (backward.end == 0) {
      CHECK(counted.begin == counted.end);  // keys that nobody sees
    } else {
      CHECK(counted == backward);
    }
  }
}

TEST_CASE("equal CTAs that fill their last round take in closed form what a simulation takes", "[cutlass]") {
  std::mt19937 random(42);
  for (int sample = 0; sample < 300; ++sample) {
    const std::int64_t sms = 1 + random() % 12, per_sm = 1 + random() % 4, places = sms * per_sm;
    const std::int64_t ctas = random() % 2 == 0 ? 1 + random() % places : places * (1 + random() % 7);
    const double lone = std::uniform_real_distribution(1.0 / static_cast<double>(per_sm), 1.0)(random);
    CAPTURE(sample, sms, per_sm, ctas, lone);
    const double simulated = run_shared(std::vector<double>{1.0}, ctas, {sms, per_sm, lone});
    CHECK(shared_waves({.ctas = static_cast<double>(ctas), .sms = sms}, per_sm, lone, 0) == Approx(simulated));
  }
}

TEST_CASE("a launch never ends before its mean load, and longer CTAs never end it earlier", "[cutlass]") {
  std::mt19937 random(44);
  for (int sample = 0; sample < 2000; ++sample) {
    const std::int64_t sms = 1 + random() % 150, per_sm = 1 + random() % 5;
    CtaSpread spread{.ctas = static_cast<double>(1 + random() % 5000), .sms = sms};
    const double lone = std::uniform_real_distribution(0.0, 1.0)(random);
    const double jitter = std::uniform_real_distribution(0.0, 0.3)(random);
    const double tile_share = std::uniform_real_distribution(0.2, 1.0)(random);
    spread.variance = std::uniform_real_distribution(0.0, 1.0)(random);
    for (LateCta& cta : spread.late)
      cta = {std::uniform_real_distribution(0.5, 2.0)(random), std::uniform_real_distribution(0.0, 50.0)(random)};
    CAPTURE(sample, sms, per_sm, spread.ctas, lone, jitter, tile_share);
    const double least = shared_waves(spread, per_sm, lone, jitter, tile_share);
    CHECK(least >= spread.ctas / static_cast<double>(sms * per_sm) * (1 - 1e-12));
    spread.longest = std::uniform_real_distribution(1.0, 3.0)(random);
    for (LateCta& cta : spread.late) cta.length *= std::uniform_real_distribution(1.0, 2.0)(random);
    CHECK(shared_waves(spread, per_sm, lone, jitter, tile_share) >= least * (1 - 1e-12));
  }
}

/// Pairs of every walked tile of an axis.
std::vector<double> pairs_along(const AxisMask& axis, const AxisTiles& tiles, Walk pass) {
  const AxisGroup group = residue_class(axis, 0);
  std::vector<double> pairs;
  for (std::int64_t first = 0; first < group.length; first += tiles.walked) {
    const TokenRange range = streamed_tokens(group, first, std::min(first + tiles.walked, group.length), pass);
    const std::int64_t begin = pass == Walk::kForward ? 0 : range.begin / tiles.streamed;
    const std::int64_t tokens = pass == Walk::kForward ? range.end - range.begin : range.end;
    pairs.push_back(static_cast<double>(ceil_divide(tokens, tiles.streamed) - begin));
  }
  return pairs;
}

/// A layout, window and heads of which an H200 runs a few rounds.
CutlassLaunch random_launch(std::mt19937& random, Walk pass) {
  CutlassLaunch launch{.pass = pass, .repeats = static_cast<std::int64_t>(1 + random() % 6)};
  const auto between = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(random() % (high - low + 1)); };
  const Extents input = {between(60, 180), between(60, 180)};
  const Extents window = {between(8, input[0] * 2 / 3), between(8, input[1] * 2 / 3)};
  launch.mask = make_mask(input, window, {random() % 2 == 0 ? 1 : between(1, window[0]), 1});
  launch.mask[0].causal = random() % 4 == 0;
  launch.tiles = {{8, 8}, {8, 8}};
  return launch;
}

TEST_CASE("unequal CTAs take in closed form about what a simulation takes", "[cutlass]") {
  constexpr std::int64_t kSms = 132, kPerSm = 3;
  constexpr double kLoneShare = 0.45;
  std::mt19937 random(45);
  int launches = 0;
  double deviations = 0;
  while (launches < 60) {
    const CutlassLaunch launch = random_launch(random, Walk::kBackward);
    CutlassWork work = cutlass_work(launch);
    work.spread.sms = kSms;
    const std::vector<double> slow = pairs_along(launch.mask[0], {8, 8}, launch.pass), fast = pairs_along(launch.mask[1], {8, 8}, launch.pass);
    if (work.spread.ctas != static_cast<double>(slow.size() * fast.size()) * static_cast<double>(launch.repeats)) continue;  // CTAs of several tiles
    std::vector<double> head;
    for (const double a : slow) {
      for (const double b : fast) head.push_back(a * b);
    }
    double mean = 0;
    for (const double pairs : head) mean += pairs / static_cast<double>(head.size());
    const double simulated = run_shared(head, launch.repeats, {kSms, kPerSm, kLoneShare}) / mean;
    deviations += std::abs(shared_waves(work.spread, kPerSm, kLoneShare, 0) / simulated - 1);
    ++launches;
  }
  CHECK(deviations / launches < 0.06);  // one SM's share of a round of three, halved: nothing less is claimed
}

TEST_CASE("tiles lack what lies behind a window's last key, or behind the axis", "[cutlass]") {
  const auto missing = [](std::int64_t length, std::int64_t window, std::int64_t tile, Walk pass) {
    return cutlass_work({.mask = make_mask({length}, {window}, {1}), .tiles = {{tile}, {tile}}, .pass = pass}).missing;
  };
  CHECK(missing(640, 640, 64, Walk::kForward) == 0);
  CHECK(missing(480, 480, 64, Walk::kForward) == Approx(1 - 480.0 / 512));                     // seven whole tiles and a half
  CHECK(missing(480, 480, 64, Walk::kBackward) == Approx(1 - 480.0 / 512 * 480.0 / 512));  // of queries and keys
  CHECK(missing(4096, 1, 64, Walk::kForward) == 0);    // 64 keys for 64 queries
  CHECK(missing(4096, 33, 64, Walk::kForward) > 0.2);  // 96 keys in two tiles, but for the border
}

TEST_CASE("NATTEN splits the keys of a backward pass into 4096 CTAs at most", "[cutlass]") {
  const auto splits = [](const Extents& input, const Extents& kv_tile, std::int64_t heads, bool deterministic) {
    const Extents ones(input.rank(), 1);
    return kv_splits({.mask = make_mask(input, input, ones),
                      .tiles = {kv_tile, kv_tile},
                      .pass = Walk::kBackward,
                      .repeats = heads,
                      .deterministic = deterministic});
  };
  CHECK(splits({32768}, {64}, 8, false) == Extents{512});           // 512 tiles, 4096 / 8 allowed
  CHECK(splits({32768}, {64}, 24, false) == Extents{170});          // 4096 / 24
  CHECK(splits({256, 256}, {4, 16}, 12, false) == Extents{64, 5});  // 341: half of it at most, then 341 / 64
  CHECK(splits({30, 48, 80}, {2, 4, 8}, 12, false) == Extents{15, 12, 1});  // 341: 113 allowed, 22, 1
  CHECK(splits({30, 48, 80}, {2, 4, 8}, 12, true) == Extents{1, 1, 1});
}

TEST_CASE("what is zeroed before a backward pass are its fp32 gradients", "[cutlass]") {
  const auto bytes = [](std::int64_t tile, std::int64_t head_dim) {
    return prepared_bytes({.mask = make_mask({8192}, {8192}, {1}),
                           .tiles = {{tile}, {tile}},
                           .pass = Walk::kBackward,
                           .repeats = 2,
                           .head_dim = head_dim});
  };
  const double sums = 2.0 * 8192 * 2 * 2;  // of O and dO, two bytes each, of two heads; times the head dim
  CHECK(bytes(64, 64) == 2.0 * 8192 * 64 * 4 + sums * 64);
  CHECK(bytes(64, 32) == 2.0 * 8192 * 64 * 4 + sums * 32);        // a tile's gradient is 64 wide at least
  CHECK(bytes(64, 128) == 3 * 2.0 * 8192 * 128 * 4 + sums * 128);  // dK and dV too
  CHECK(bytes(128, 128) == 2.0 * 8192 * 128 * 4 + sums * 128);
}

}  // namespace cutlass_ctas_test
