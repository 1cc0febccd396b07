#include <natten_sim/core/error.hpp>

#include "catch.hpp"

namespace error_test {

using namespace natten_sim;

TEST_CASE("an error names parameters plainly, and with a prefix for whoever has one") {
  const InvalidParameter error("ways", "8",
                               "together with " + mention("l2-bytes") + " or " + mention("device"));
  CHECK(std::string(error.what()) == "ways: 8 is not valid; accepted: together with l2-bytes or device");
  CHECK(error.sentence("--") == "ways: 8 is not valid; accepted: together with --l2-bytes or --device");
  CHECK(error.sentence("") == error.what());
  CHECK(error.accepted() == "together with l2-bytes or device");
}

TEST_CASE("the parameter at fault and its value may be mentions too") {
  const InvalidParameter error(mention("q-tile"), "given together with " + mention("q-tiles"),
                               "tile sizes with " + mention("seqlen-q"));
  CHECK(error.sentence("--") ==
        "--q-tile: given together with --q-tiles is not valid; accepted: tile sizes with --seqlen-q");
  CHECK(error.sentence("") == error.what());
  CHECK(error.parameter() == "q-tile");
  CHECK(error.value() == "given together with q-tiles");
  CHECK(UnknownName("kind", "x", "", mention("a") + ", b").sentence("--") ==
        "kind: unknown name 'x'; accepted: --a, b");
}

TEST_CASE("an error that mentions no other parameter reads the same with any prefix") {
  CHECK(InvalidParameter("window", "9", "1..8").sentence("--") == "window: 9 is not valid; accepted: 1..8");
  CHECK(UnknownName("device", "h20", "h200", "h100, h200").sentence("--") ==
        UnknownName("device", "h20", "h200", "h100, h200").what());
}

}  // namespace error_test
