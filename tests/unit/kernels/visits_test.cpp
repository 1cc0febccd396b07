#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/kernels/attention_forward/visits.hpp>

namespace natten_sim::kernels::attention_forward {
namespace {

/// Pairs of tokens of one dilation group, from the rule, on one axis.
bool sees(const AxisGroup& group, std::int64_t query, std::int64_t key) {
  const TokenRange keys = attended_range(group, query);
  return key >= keys.begin && key < std::min(keys.end, group.length);
}

TEST_CASE("visits are the pairs of tiles with a pair of tokens that attends, each once", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto drawn = [&](std::uint64_t at, std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random_bits(seed, at) % static_cast<std::uint64_t>(high - low + 1));
    };
    CAPTURE(seed);
    AxisMask axis;
    axis.length = drawn(0, 1, 40);
    axis.dilation = drawn(1, 1, std::min<std::int64_t>(axis.length, 3));
    axis.window = drawn(2, 1, axis.length / axis.dilation);
    axis.stride = drawn(3, 1, axis.window);
    axis.causal = drawn(4, 0, 1) == 1;
    const std::int64_t q_tile = drawn(5, 1, 9), kv_tile = drawn(6, 1, 9);
    std::vector<std::string> expected;
    for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
      const AxisGroup group = residue_class(axis, residue);
      for (std::int64_t q = 0; q < group.length; q += q_tile) {
        for (std::int64_t kv = 0; kv < group.length; kv += kv_tile) {
          bool some = false, all = kv + kv_tile <= group.length;
          for (std::int64_t i = q; i < std::min(q + q_tile, group.length); ++i) {
            for (std::int64_t j = kv; j < std::min(kv + kv_tile, group.length); ++j) {
              some = some || sees(group, i, j);
              all = all && sees(group, i, j);
            }
          }
          if (some)
            expected.push_back(std::to_string(residue) + " " + std::to_string(q) + " " + std::to_string(kv) +
                               (all ? " full" : ""));
        }
      }
    }
    std::vector<std::string> found;
    for (const VisitedTile& visit : visits_of(NeighborhoodMask{axis}, {q_tile}, {kv_tile})) {
      found.push_back(std::to_string(visit.group) + " " + std::to_string(visit.q_origin[0]) + " " +
                      std::to_string(visit.kv_origin[0]) + (visit.full ? " full" : ""));
    }
    CHECK(found == expected);
  }
}

TEST_CASE("a visit of several axes is one of each, and full when all are", "[kernels]") {
  // Axis 0: queries 0 and 1 see keys 0..1, 2 and 3 see 2..3. Axis 1: all see all.
  const NeighborhoodMask mask = {AxisMask{4, 2, 2, 1, false}, AxisMask{3, 3, 1, 1, false}};
  const std::vector<VisitedTile> visits = visits_of(mask, {2, 2}, {2, 3});
  REQUIRE(visits.size() == 4);
  for (const VisitedTile& visit : visits) {
    CHECK(visit.kv_origin[0] == visit.q_origin[0]);
    CHECK(visit.kv_origin[1] == 0);
    CHECK(visit.full);
  }
  CHECK(std::ranges::count(visits_of(mask, {2, 2}, {2, 2}), false, &VisitedTile::full) == 4);
}

TEST_CASE("documents visit their own tiles", "[kernels]") {
  // Lengths 3 and 5, tiles of 4: Q tile 0 has queries of both.
  std::vector<TokenRange> intervals(8, TokenRange{3, 8});
  for (int query = 0; query < 3; ++query) intervals[static_cast<std::size_t>(query)] = {0, 3};
  const std::vector<VisitedTile> visits = visits_of(intervals, 4, 4);
  REQUIRE(visits.size() == 4);
  CHECK(visits[0].full == false);
  CHECK(visits[3].kv_origin[0] == 4);
  CHECK(visits[3].full);
}

TEST_CASE("intervals that are no intervals of the axis are refused", "[kernels]") {
  Problem problem;
  problem.q_tokens = problem.kv_tokens = 4;
  problem.q = problem.k = problem.v = problem.o = heads_first(1, 4, 128);
  Neighborhood documents{NeighborhoodMask{AxisMask{4, 4, 1, 1, false}}, {128}, {128}, {}, {{0, 2}, {0, 2}, {2, 4}, {2, 4}}};
  problem.mask = documents;
  CHECK_NOTHROW(require_valid(problem));
  for (const std::vector<TokenRange>& wrong :
       {std::vector<TokenRange>{{0, 2}}, {{0, 2}, {0, 2}, {1, 1}, {2, 4}}, {{0, 2}, {0, 2}, {2, 5}, {2, 5}}, {{1, 2}, {0, 2}, {2, 4}, {2, 4}}}) {
    documents.intervals = wrong;
    problem.mask = documents;
    CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  }
}

}  // namespace
}  // namespace natten_sim::kernels::attention_forward
