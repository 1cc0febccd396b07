#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "catch.hpp"

namespace joint_search_test {

using namespace natten_sim;

SearchSpace hunyuan_space() {
  SearchSpace space = full_space({30, 48, 80});
  for (const TilePair& tiles : tile_pairs(builtin_catalog().backend("blackwell-fna"), 3, 128, Walk::kForward))
    space.tiles.push_back({"blackwell-fna", tiles});
  return space;
}

TEST_CASE("the joint space of Hunyuan Video has 12,402,331,200 combinations") {
  // Sum of w over w = 1..L is L (L + 1) / 2 for each axis; seven tile pairs.
  constexpr std::int64_t kSize = std::int64_t{30 * 31 / 2} * (48 * 49 / 2) * (80 * 81 / 2) * 7;
  const SearchResult result = search_best(hunyuan_space(), {.sparsity = SparsityRange{0.9, 0.92}},
                                          Objective::kWork, 100, {.threads = 2});
  CHECK(result.space_size == kSize);
  CHECK(result.candidates.size() == 100);
}

TEST_CASE("results do not depend on the number of threads") {
  const SearchSpace space = hunyuan_space();
  for (const Objective objective :
       {Objective::kWork, Objective::kWorst, Objective::kMean, Objective::kFlop}) {
    const SearchConstraints constraints{.sparsity = SparsityRange{0.0, 0.05}};  // many ties
    const SearchResult one = search_best(space, constraints, objective, 50, {.threads = 1});
    const SearchResult five = search_best(space, constraints, objective, 50, {.threads = 5});
    REQUIRE(one.candidates.size() == five.candidates.size());
    CHECK(one.evaluated == five.evaluated);
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
      CHECK(one.candidates[i].mask == five.candidates[i].mask);
      CHECK(one.candidates[i].tile_choice == five.candidates[i].tile_choice);
    }
  }
}

TEST_CASE("sparsity bounds are the decimal numbers that were written, ends included") {
  // 10 tokens, window w: sparsity is exactly 1 - w / 10.
  SearchSpace space = full_space({10});
  space.tiles = {{"", {{1}, {1}}}};
  space.stride[0] = {1, 1};
  for (std::int64_t window = 1; window <= 10; ++window) {
    const double sparsity = static_cast<double>(10 - window) / 10.0;
    const SearchResult result =
        search_best(space, {.sparsity = SparsityRange{sparsity, sparsity}}, Objective::kWork, 5);
    INFO("sparsity " << sparsity);
    REQUIRE(result.candidates.size() == 1);
    CHECK(result.candidates[0].mask[0].window == window);
  }
}

TEST_CASE("nothing feasible: no candidates, and the nearest sparsity that is") {
  SearchSpace space = full_space({10});
  space.tiles = {{"", {{1}, {1}}}};
  const SearchResult result =
      search_best(space, {.sparsity = SparsityRange{0.41, 0.42}}, Objective::kWork, 5);
  CHECK(result.candidates.empty());
  REQUIRE(result.nearest_sparsity.has_value());
  CHECK(*result.nearest_sparsity == 0.4);
  // A speedup that nothing reaches has no nearest sparsity, beside a range or without one.
  SearchConstraints fast{.sparsity = SparsityRange{0.41, 0.42}, .min_speedup = 100};
  CHECK_FALSE(search_best(space, fast, Objective::kWork, 5).nearest_sparsity.has_value());
  fast.sparsity.reset();
  CHECK_FALSE(search_best(space, fast, Objective::kWork, 5).nearest_sparsity.has_value());
}

TEST_CASE("the nearest sparsity of a space with too many options to list is looked for near the range") {
  SearchSpace space = full_space({1 << 14});
  space.tiles = {{"", {{64}, {64}}}};
  const double half = 0.5, step = 1.0 / (1 << 14);  // windows of whole tokens are a step apart
  const SearchResult result = search_best(
      space, {.sparsity = SparsityRange{half + 0.3 * step, half + 0.4 * step}}, Objective::kWork, 1);
  CHECK(result.candidates.empty());
  REQUIRE(result.nearest_sparsity.has_value());
  CHECK(*result.nearest_sparsity == half);
}

TEST_CASE("tiles that never divide the axis leave nothing at any sparsity") {
  SearchSpace space = full_space({10});
  space.tiles = {{"", {{4}, {4}}}};
  const SearchResult result =
      search_best(space, {.sparsity = SparsityRange{0.1, 0.9}, .no_padding = true}, Objective::kWork, 5);
  CHECK(result.candidates.empty());
  CHECK_FALSE(result.nearest_sparsity.has_value());
}

TEST_CASE("invalid spaces and constraints are refused") {
  SearchSpace space = full_space({10, 10});
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), InvalidParameter);  // no tiles
  space.tiles = {{"", {{4}, {4}}}};
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), InvalidParameter);  // tile rank
  space.tiles = {{"", {{4, 4}, {4, 4}}}};
  CHECK_NOTHROW(search_best(space, {}, Objective::kWork, 1));
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 0), InvalidParameter);
  CHECK_THROWS_AS(search_best(space, {.sparsity = SparsityRange{0.5, 0.4}}, Objective::kWork, 1),
                  InvalidParameter);
  CHECK_THROWS_AS(search_best(space, {.sparsity = SparsityRange{-0.5, 0.4}}, Objective::kWork, 1),
                  InvalidParameter);
  CHECK_THROWS_AS(search_best(space, {.max_imbalance = 0.5}, Objective::kWork, 1), InvalidParameter);
  CHECK_THROWS_AS(stride_ladder(space, {}), InvalidParameter);
  space.window[0] = {5, 11};
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), InvalidParameter);
  CHECK_THROWS_AS(full_space({10}, {11}), InvalidParameter);
  CHECK_THROWS_AS(full_space({0}), InvalidParameter);
}

}  // namespace joint_search_test
