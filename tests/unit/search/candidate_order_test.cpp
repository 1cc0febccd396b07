// What orders candidates, and what bounds them.
#include "windows/candidate_order.hpp"

#include <vector>

#include "catch.hpp"

namespace candidate_order_test {

using namespace natten_sim;

/// Two choices that differ in their KV tile alone, and the first again.
SearchSpace two_axes() {
  SearchSpace space = full_space({12, 8});
  space.phase = SearchPhase::kBoth;
  const TilePair small{{2, 2}, {2, 2}}, large{{2, 2}, {2, 4}};
  space.tiles = {{"", small, small}, {"", large, small}, {"", small, large}, {"", small, small}};
  return space;
}

TEST_CASE("each criterion of the order decides where all before it are equal, whatever those behind say") {
  const SearchSpace space = two_axes();
  const CandidateOrder before(space);
  // From the last criterion to the first: each change makes the point come before the one so far.
  RankedPoint point;
  point.cost = {2, 3};
  point.stride_product = 9;
  point.unevenness = {5, 2};
  point.window = {6, 6};
  point.stride = {4, 4};
  point.tile_choice = 1;
  std::vector<RankedPoint> points = {point};
  const auto then = [&](const auto& change) {
    change(point);
    points.push_back(point);
  };
  then([](RankedPoint& p) {
    p.tile_choice = 2;
  });  // the smaller forward KV tile, before the backward one counts
  then([](RankedPoint& p) { p.tile_choice = 3; });  // the smaller backward KV tile
  then([](RankedPoint& p) { p.tile_choice = 0; });  // the same tiles, earlier
  then([](RankedPoint& p) { p.stride = {3, 9}, p.tile_choice = 1; });
  then([](RankedPoint& p) { p.window = {5, 9}, p.stride = {9, 9}; });
  then([](RankedPoint& p) { p.unevenness = {7, 3}, p.window = {9, 9}; });
  then([](RankedPoint& p) { p.stride_product = 8, p.unevenness = {9, 1}; });
  then([](RankedPoint& p) { p.fast_path = true, p.stride_product = 10; });
  then([](RankedPoint& p) { p.cost = {5, 8}, p.fast_path = false; });
  for (std::size_t a = 0; a < points.size(); ++a) {
    for (std::size_t b = 0; b < points.size(); ++b) {
      CAPTURE(a, b);
      CHECK(before(points[a], points[b]) == (a > b));
    }
  }
  // Tiles of a pass that is not searched do not count.
  SearchSpace backward = space;
  backward.phase = SearchPhase::kBackward;
  RankedPoint first = point, second = point;
  first.tile_choice = 0, second.tile_choice = 1;
  CHECK(CandidateOrder(backward)(first, second));
  CHECK_FALSE(CandidateOrder(backward)(second, first));
  first.tile_choice = 1,
  second.tile_choice = 2;  // the smaller backward tile, though its forward one is larger
  CHECK(CandidateOrder(backward)(first, second));
}

TEST_CASE("unevenness is the largest over the smallest L / window, and its limit is inclusive and decimal") {
  Unevenness uneven;
  CHECK(uneven.ratio() == Ratio{1, 1});
  uneven.add_axis(12, 4);  // 3
  CHECK(uneven.ratio() == Ratio{1, 1});
  uneven.add_axis(10, 4);  // 2.5
  CHECK(uneven.ratio() == Ratio{6, 5});
  uneven.add_axis(20, 6);  // 3.33
  CHECK(uneven.ratio() == Ratio{4, 3});
  uneven.add_axis(11, 4);  // 2.75, between
  CHECK(uneven.ratio() == Ratio{4, 3});
  const auto allows = [&](double limit) { return ImbalanceLimit({.max_imbalance = limit}).allows(uneven); };
  CHECK(allows(1.4));
  CHECK(allows(1.3333333333333335));
  CHECK_FALSE(allows(1.3333333333333332));
  CHECK_FALSE(allows(1));
  CHECK(ImbalanceLimit({}).allows(uneven));
  Unevenness fifths;  // 6 / 5 is 1.2 exactly, which a double is not
  fifths.add_axis(12, 10), fifths.add_axis(12, 12);
  CHECK(ImbalanceLimit({.max_imbalance = 1.2}).allows(fifths));
  CHECK_FALSE(ImbalanceLimit({.max_imbalance = 1.19}).allows(fifths));
}

TEST_CASE("attended pairs and costs are bounded by the decimals that were written") {
  const SearchSpace space = full_space({5, 2});  // 100 pairs
  const auto bounds = [&](double lo, double hi) {
    return attended_bounds(space, {.sparsity = SparsityRange{lo, hi}});
  };
  CHECK(bounds(0.3, 0.7).lo == 30);
  CHECK(bounds(0.3, 0.7).hi == 70);
  CHECK(bounds(0.305, 0.695).lo == 31);  // 30.5 .. 69.5
  CHECK(bounds(0.305, 0.695).hi == 69);
  CHECK(attended_bounds(space, {}).lo == 0);
  CHECK(attended_bounds(space, {}).hi == 100);
  CHECK_FALSE(cost_limit({}));
  const Ratio limit = *cost_limit({.min_speedup = 2.5});  // cost is 1 / speedup
  CHECK(limit == Ratio{2, 5});
  CHECK(*cost_limit({.min_speedup = 4.0}) == Ratio{1, 4});
  CHECK(*cost_limit({.min_speedup = 0.125}) == Ratio{8, 1});
}

}  // namespace candidate_order_test
