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
