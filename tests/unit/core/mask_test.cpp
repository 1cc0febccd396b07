#include <natten_sim/core/mask.hpp>

#include "catch.hpp"

namespace mask_test {

using namespace natten_sim;

TEST_CASE("stride 1 and an odd window centre the query, but for the borders") {
  const AxisGroup group{10, 5, 1, false};
  CHECK(attended_range(group, 0) == TokenRange{0, 5});
  CHECK(attended_range(group, 2) == TokenRange{0, 5});
  CHECK(attended_range(group, 3) == TokenRange{1, 6});
  CHECK(attended_range(group, 7) == TokenRange{5, 10});
  CHECK(attended_range(group, 9) == TokenRange{5, 10});
}

TEST_CASE("on a cyclic axis the window goes on at the other end") {
  const AxisGroup group{10, 5, 1, false, true};
  CHECK(attended_range(group, 0) == TokenRange{-2, 3});
  CHECK(attended_range(group, 5) == TokenRange{3, 8});
  CHECK(attended_range(group, 9) == TokenRange{7, 12});
  CHECK(unrolled_range(group, -1) == TokenRange{-3, 2});
  CHECK(unrolled_range(group, 19) == TokenRange{17, 22});
  // The leader of the last stride group, 8 and 9 of a group of 4, is token 10, which is token 0.
  const AxisGroup strided{10, 5, 4, false, true};
  CHECK(attended_range(strided, 8) == TokenRange{8, 13});
}

TEST_CASE("a window over the whole cycle is dense attention") {
  const AxisMask axis{12, 6, 3, 2, false, true};
  CHECK_FALSE(residue_class(axis, 1).cyclic);
  CHECK(cycle_padding(axis).before == 0);
}

TEST_CASE("a cycle is padded by half a window, before it in whole strides, between the classes of its dilation") {
  CHECK(cycle_padding({16, 5, 1, 1, false, true}).before == 2);
  CHECK(cycle_padding({16, 5, 1, 1, false, true}).after == 2);
  CHECK(cycle_padding({16, 5, 1, 1, false, false}).before == 0);
  // 8 tokens a class, windows of 5 that begin 2 - 1 before their stride group of 3: one group, 2 x 3 tokens.
  // The last group begins at 6, its window ends at 6 - 1 + 5, 2 past the end.
  CHECK(cycle_padding({16, 5, 3, 2, false, true}).before == 6);
  CHECK(cycle_padding({16, 5, 3, 2, false, true}).after == 4);
}

TEST_CASE("an even window reaches one token further to the left") {
  const AxisGroup group{10, 4, 1, false};
  CHECK(attended_range(group, 5) == TokenRange{3, 7});
}

TEST_CASE("a stride equal to the window is blocked attention") {
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t window = 1; window <= length; ++window) {
      if (length % window != 0) continue;
      for (std::int64_t query = 0; query < length; ++query) {
        const std::int64_t block = query / window * window;
        INFO("length " << length << " window " << window << " query " << query);
        CHECK(attended_range({length, window, window, false}, query) == TokenRange{block, block + window});
      }
    }
  }
}

TEST_CASE("a window as long as the axis is dense attention, causal: the lower triangle") {
  for (std::int64_t stride = 1; stride <= 12; ++stride) {
    for (std::int64_t query = 0; query < 12; ++query) {
      CHECK(attended_range({12, 12, stride, false}, query) == TokenRange{0, 12});
      CHECK(attended_range({12, 12, 1, true}, query) == TokenRange{0, query + 1});
    }
  }
}

TEST_CASE("causal windows end with the query and shrink at the start only") {
  const AxisGroup group{10, 4, 1, true};
  CHECK(attended_range(group, 0) == TokenRange{0, 1});
  CHECK(attended_range(group, 2) == TokenRange{0, 3});
  CHECK(attended_range(group, 3) == TokenRange{0, 4});
  CHECK(attended_range(group, 9) == TokenRange{6, 10});
}

TEST_CASE("with a causal stride the last query of a group has the whole window, the others lose its end") {
  const AxisGroup group{12, 6, 4, true};
  CHECK(attended_range(group, 4) == TokenRange{2, 5});
  CHECK(attended_range(group, 7) == TokenRange{2, 8});
  CHECK(attended_range(group, 8) == TokenRange{6, 9});
  CHECK(attended_range(group, 11) == TokenRange{6, 12});
}

TEST_CASE("dilation groups have the lengths of their residue classes") {
  const AxisMask axis{10, 3, 1, 3, false};
  CHECK(residue_class(axis, 0).length == 4);  // 0 3 6 9
  CHECK(residue_class(axis, 1).length == 3);  // 1 4 7
  CHECK(residue_class(axis, 2).length == 3);  // 2 5 8
}

/// The parameter that a bad mask is blamed on.
std::string blamed(const Extents& input, const Extents& window, const Extents& stride = {},
                   const Extents& dilation = {}, const PerAxis<bool>& causal = {}) {
  try {
    (void)make_mask(input, window, stride, dilation, causal);
  } catch (const InvalidParameter& error) {
    return error.parameter();
  }
  return "nothing";
}

TEST_CASE("invalid masks are refused with the parameter at fault") {
  CHECK(blamed({8}, {8}) == "nothing");
  CHECK(blamed({8}, {9}) == "window");
  CHECK(blamed({8}, {0}) == "window");
  CHECK(blamed({8}, {-1}) == "window");
  CHECK(blamed({0}, {1}) == "input");
  CHECK(blamed({8}, {4}, {5}) == "stride");
  CHECK(blamed({8}, {4}, {0}) == "stride");
  CHECK(blamed({8}, {4}, {4}) == "nothing");
  CHECK(blamed({8}, {4}, {1}, {2}) == "nothing");
  CHECK(blamed({8}, {4}, {1}, {3}) == "window");
  CHECK(blamed({8}, {1}, {1}, {9}) == "dilation");
  CHECK(make_mask({8, 8}, {4}, {2}, {2}) == make_mask({8, 8}, {4, 4}, {2, 2}, {2, 2}));  // one of all axes
  CHECK(blamed({8, 3}, {4}) == "window");
  CHECK(blamed({8, 8, 8}, {4, 4}) == "window");
  CHECK(blamed({8, 8, 8}, {4, 4, 4}, {1, 1}) == "stride");
  CHECK(blamed({8, 8, 8}, {4, 4, 4}, {1, 1, 1}, {1, 1}) == "dilation");
  CHECK(blamed({8, 8}, {4, 4}, {}, {}, {true}) == "nothing");  // of all axes
  CHECK(blamed({8, 8, 8}, {4, 4, 4}, {}, {}, {true, true}) == "causal");
  CHECK(blamed({8, 8}, {4, 4}, {}, {}, {true, true, true}) == "causal");
  CHECK(blamed({(std::int64_t{1} << 60) + 1}, {1}) == "input");
  CHECK(blamed({}, {}) == "window");
}

TEST_CASE("messages name parameter, value and accepted range") {
  try {
    (void)make_mask({30, 48}, {18, 49});
    FAIL("accepted a window longer than its axis");
  } catch (const InvalidParameter& error) {
    CHECK(error.parameter() == "window");
    CHECK(error.value() == "49 on axis 1");
    CHECK(error.accepted().find("1..48") != std::string::npos);
    CHECK(std::string(error.what()).find("49") != std::string::npos);
  }
}

}  // namespace mask_test
