// Closed forms of what NATTEN's kernels launch, visit and mask, against a retelling of the kernels.
#include <cstdint>
#include <random>
#include <string>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"
#include "natten_kernels.hpp"
#include "random.hpp"

namespace natten_visits_test {

using namespace natten_sim;
using namespace natten_sim::test;

struct Kernel {
  const char* name;
  NattenBackend backend;
  Walk pass;
  KernelTrips (*trips)(const NeighborhoodMask&, const TilePair&);
};

constexpr Kernel kKernels[] = {
    {"hopper-fna forward", NattenBackend::kHopperFna, Walk::kForward, hopper_forward},
    {"hopper-fna backward", NattenBackend::kHopperFna, Walk::kBackward, hopper_backward},
    {"blackwell-fna forward", NattenBackend::kBlackwellFna, Walk::kForward, hopper_forward},
    {"blackwell-fna backward", NattenBackend::kBlackwellFna, Walk::kBackward, hopper_backward},
    {"cutlass-fna forward", NattenBackend::kCutlassFna, Walk::kForward, cutlass_forward},
    {"cutlass-fna backward", NattenBackend::kCutlassFna, Walk::kBackward, cutlass_backward},
};

std::string describe(const NeighborhoodMask& mask, const TilePair& tiles) {
  std::string text = to_string(input_of(mask)) + " window " + to_string(window_of(mask)) + " stride " +
                     to_string(stride_of(mask)) + " dilation " + to_string(dilation_of(mask)) + " causal ";
  for (const AxisMask& axis : mask) text += axis.causal ? "1" : "0";
  return text + " tiles " + to_string(tiles.q_tile) + " " + to_string(tiles.kv_tile);
}

bool same(const KernelVisits& visits, const KernelTrips& trips) {
  return visits.launched_tiles == trips.launched && visits.empty_tiles == trips.empty &&
         visits.visited_tiles == trips.trips && visits.empty_visits == trips.empty_trips &&
         visits.unmasked_tiles == trips.unmasked && visits.bounds_masked_tiles == trips.bounds &&
         visits.masked_tiles == trips.masked;
}

/// How often the special cases came up, so that a test knows that it met them.
struct Met {
  int empty = 0, unmasked = 0, bounds = 0;
};

Met met;

void require_same(const Kernel& kernel, const NeighborhoodMask& mask, const TilePair& tiles) {
  NattenProblem problem{.mask = mask, .backend = kernel.backend, .tiles = tiles, .pass = kernel.pass};
  problem.fmha = {kernel.backend, 64, 64};
  const NattenVisits visits = natten_visits(problem);
  if (visits.dense_path) return;
  const KernelTrips trips = kernel.trips(mask, tiles);
  met.empty += trips.empty > 0;
  met.unmasked += trips.unmasked > 0;
  met.bounds += trips.bounds > 0;
  if (same(visits.attention, trips)) return;
  INFO(kernel.name << ": " << describe(mask, tiles) << "\nlaunched " << visits.attention.launched_tiles << " "
                   << trips.launched << ", visited " << visits.attention.visited_tiles << " " << trips.trips
                   << ", empty " << visits.attention.empty_visits << " " << trips.empty_trips << ", unmasked "
                   << visits.attention.unmasked_tiles << " " << trips.unmasked << ", bounds "
                   << visits.attention.bounds_masked_tiles << " " << trips.bounds);
  REQUIRE(same(visits.attention, trips));
}

class RandomProblems {
 public:
  explicit RandomProblems(std::uint64_t seed) : random_(seed) {}

  AxisMask axis(std::int64_t longest, bool may_be_causal = true) {
    return dilated_axis(pick(1, 4), longest, may_be_causal);
  }
  AxisMask dilated_axis(std::int64_t dilation, std::int64_t longest, bool may_be_causal = true) {
    AxisMask axis;
    axis.dilation = dilation;
    axis.length = pick(2 * axis.dilation, longest);
    axis.window = pick(2, axis.length / axis.dilation);
    axis.stride = pick(1, axis.window);
    axis.causal = may_be_causal && pick(0, 2) == 0;
    // Half of them near what the fast path asks for.
    if (pick(0, 1) == 0) {
      const std::int64_t unit = std::int64_t{1} << pick(0, 3);
      if (axis.window >= unit) axis.window -= axis.window % unit;
      axis.stride = std::max<std::int64_t>(1, axis.stride - axis.stride % unit);
      axis.stride = std::min(axis.stride, axis.window);
    }
    return axis;
  }
  std::int64_t tile(std::int64_t largest) {
    return pick(0, 1) == 0 ? pick(1, largest) : std::int64_t{1} << pick(0, 5);
  }
  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random_);
  }

 private:
  std::mt19937_64 random_;
};

TEST_CASE("closed forms equal the kernels on 20,000 random axes a kernel and dilation, 1 to 4") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  met = {};
  for (const Kernel& kernel : kKernels) {
    for (std::int64_t dilation = 1; dilation <= 4; ++dilation) {
      RandomProblems random(seed);
      for (int i = 0; i < 20'000; ++i) {
        const AxisMask axis = random.dilated_axis(dilation, 300);
        require_same(kernel, {axis}, {{random.tile(150)}, {random.tile(150)}});
      }
    }
  }
  REQUIRE(met.empty > 500);
  REQUIRE(met.unmasked > 500);
  REQUIRE(met.bounds > 500);
}

TEST_CASE("closed forms equal the kernels on two and three axes") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  for (const Kernel& kernel : kKernels) {
    RandomProblems random(seed);
    for (int i = 0; i < 2'000; ++i) {
      NeighborhoodMask mask;
      TilePair tiles;
      const std::int64_t rank = random.pick(2, 3);
      const bool may_be_causal = random.pick(0, 1) == 0;
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        mask.push_back(random.axis(rank == 2 ? 30 : 14, may_be_causal));
        // NATTEN's tiles: a Q tile of one token on the first axis only.
        tiles.q_tile.push_back(axis == 0 ? random.tile(9) : 2 * random.tile(5));
        tiles.kv_tile.push_back(random.tile(9));
      }
      require_same(kernel, mask, tiles);
    }
  }
}

TEST_CASE("closed forms equal the kernels on every short axis") {
  std::int64_t problems = 0;
  for (const Kernel& kernel : kKernels) {
    for (std::int64_t length = 1; length <= 13; ++length) {
      for (std::int64_t dilation = 1; dilation <= 4; ++dilation) {
        for (std::int64_t window = 1; window * dilation <= length; ++window) {
          for (std::int64_t stride = 1; stride <= window; ++stride) {
            for (const bool causal : {false, true}) {
              for (std::int64_t q = 1; q <= 8; ++q) {
                for (std::int64_t kv = 1; kv <= 8; ++kv) {
                  require_same(kernel, {{length, window, stride, dilation, causal}}, {{q}, {kv}});
                  ++problems;
                }
              }
            }
          }
        }
      }
    }
  }
  REQUIRE(problems > 300'000);
}

TEST_CASE("blocks of flex-fna equal its block mask, padded tokens included") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomProblems random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const AxisMask axis = random.axis(48);
    const std::int64_t q = random.tile(12), kv = random.tile(12);
    for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
      const NattenVisits visits = natten_visits({.mask = {axis},
                                                 .backend = NattenBackend::kFlexFna,
                                                 .tiles = {{q}, {kv}},
                                                 .fmha = {NattenBackend::kFlexFna, 64, 64},
                                                 .pass = pass});
      if (visits.dense_path) continue;
      const KernelTrips trips = flex_blocks(axis, q, kv);
      INFO(describe({axis}, {{q}, {kv}}));
      REQUIRE(visits.attention.visited_tiles == trips.trips);
      REQUIRE(visits.attention.unmasked_tiles == trips.unmasked);
      REQUIRE(visits.attention.masked_tiles == trips.masked);
      if (pass == Walk::kForward) REQUIRE(visits.attention.launched_tiles == trips.launched);
    }
  }
}

TEST_CASE("visits do not depend on whether the axes were counted before") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomProblems random(seed);
  for (int i = 0; i < 2'000; ++i) {
    const AxisMask axis = random.dilated_axis(1, 48);
    const std::int64_t q = random.tile(12), kv = random.tile(12);
    for (const NattenBackend backend : {NattenBackend::kHopperFna, NattenBackend::kFlexFna}) {
      for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
        NattenProblem problem{.mask = {axis}, .backend = backend, .tiles = {{q}, {kv}}, .pass = pass};
        problem.kernel_alone = true;
        const KernelVisits alone = natten_visits(problem).attention;
        const AxisTiles tiles = pass == Walk::kForward ? AxisTiles{q, kv} : AxisTiles{kv, q};
        problem.counted = {count_axis(axis, tiles, KvTiling::kStatic, pass)};
        INFO(describe({axis}, {{q}, {kv}}));
        REQUIRE(natten_visits(problem).attention == alone);
      }
    }
  }
}

TEST_CASE("dense kernels visit and mask what their fusions say") {
  for (const NattenBackend family : values_of<NattenBackend>()) {
    if (family == NattenBackend::kFlexFna) continue;
    for (const std::int64_t q : {1, 2, 3, 4, 8, 12}) {
      for (const std::int64_t kv : {1, 2, 3, 4, 8, 12}) {
        for (std::int64_t length = 1; length <= 40; ++length) {
          const FmhaKernel kernel{family, q, kv};
          INFO(fmha_name(family) << " " << q << " " << kv << " " << length);
          for (const bool causal : {false, true}) {
            const KernelTrips forward = dense_forward(family, q, kv, length, length, causal);
            const KernelVisits visits = fmha_visits(kernel, length, length, causal, Walk::kForward);
            REQUIRE(visits.launched_tiles == forward.launched);
            REQUIRE(visits.visited_tiles == forward.trips);
            REQUIRE(visits.masked_tiles == forward.masked);
            REQUIRE(visits.bounds_masked_tiles == forward.bounds);
            REQUIRE(visits.unmasked_tiles == forward.unmasked);
            const KernelTrips backward = dense_backward(family, q, kv, length, length, causal);
            const KernelVisits back = fmha_visits(kernel, length, length, causal, Walk::kBackward);
            REQUIRE(back.visited_tiles == backward.trips);
            if (causal) REQUIRE(back.masked_tiles == backward.trips);  // all of them, as the header says
          }
          const KernelTrips extra = dense_forward(family, q, kv, length, 7, false);
          REQUIRE(fmha_visits(kernel, length, 7, false, Walk::kForward).visited_tiles == extra.trips);
        }
      }
    }
  }
}

TEST_CASE("a shorter dilation group is padded to as many tiles as the longest one") {
  // 33 tokens in two groups of 17 and 16: two tiles of 16 each. Queries 0..15 of the first group need keys
  // 0..16, two tiles; query 16 needs 9..16, two tiles; the second group needs one tile, and its empty tile
  // walks the window of the last query, 8..15, once more.
  const NattenProblem problem{.mask = make_mask({33}, {8}, {}, {2}),
                              .backend = NattenBackend::kHopperFna,
                              .tiles = {{16}, {16}},
                              .fmha = {NattenBackend::kHopperFna, 64, 128}};
  const KernelVisits visits = natten_visits(problem).attention;
  REQUIRE(visits.launched_tiles == 4);
  REQUIRE(visits.visited_tiles == 6);
  REQUIRE(visits.empty_tiles == 1);
  REQUIRE(visits.empty_visits == 1);
  const TileCount needed = count_tiles({.mask = problem.mask, .tiles = problem.tiles});
  REQUIRE(needed.q_tiles == 3);
  REQUIRE(needed.visited_tiles == 5);
}

TEST_CASE("a window that covers the input takes the dense kernels whatever tiles are given") {
  NattenProblem problem{.mask = make_mask({1000}, {1000}, {}, {}, {true}),
                        .backend = NattenBackend::kHopperFna,
                        .tiles = {{7}, {9}},
                        .fmha = {NattenBackend::kHopperFna, 128, 128}};
  NattenVisits visits = natten_visits(problem);
  REQUIRE(visits.dense_path);
  REQUIRE(visits.attention.visited_tiles == 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);  // the lower triangle of 8 x 8

  problem.additional_keys = 50;  // cannot be concatenated under a causal mask: two calls
  visits = natten_visits(problem);
  REQUIRE_FALSE(visits.dense_path);
  REQUIRE(visits.additional->visited_tiles == 8);
  problem.additional_keys = 1;
  REQUIRE(natten_visits(problem).additional->visited_tiles == 8);
  problem.additional_keys = 50;

  problem.mask = make_mask({1000}, {1000});  // one call over 1050 keys
  visits = natten_visits(problem);
  REQUIRE(visits.dense_path);
  REQUIRE_FALSE(visits.additional);
  REQUIRE(visits.attention.visited_tiles == 8 * 9);
  REQUIRE(masking_of(visits.attention) == Masking::kMixed);  // the last KV tile of each Q tile is cut
}

TEST_CASE("a run without dilation is masked iff the fast path does not hold") {
  const std::uint64_t seed = stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomProblems random(seed);
  for (int i = 0; i < 20'000; ++i) {
    AxisMask axis = random.axis(200);
    axis.dilation = 1;
    const TilePair tiles{{random.tile(40)}, {random.tile(40)}};
    if (axis.window == axis.length) continue;
    const NattenVisits visits = natten_visits({.mask = {axis},
                                               .backend = NattenBackend::kBlackwellFna,
                                               .tiles = tiles,
                                               .fmha = {NattenBackend::kBlackwellFna, 256, 128}});
    const bool fast = natten_fast_path({.mask = {axis}, .tiles = tiles});
    INFO(describe({axis}, tiles));
    REQUIRE((masking_of(visits.attention) != Masking::kElements) == fast);
  }
}

}  // namespace natten_visits_test
