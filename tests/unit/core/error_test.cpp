#include <natten_sim/core/error.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

TEST_CASE("an error names parameters plainly, and with a prefix for whoever has one") {
  const InvalidParameter error("ways", "8", "together with " + mention("l2-bytes") + " or " + mention("device"));
  CHECK(std::string(error.what()) == "ways: 8 is not valid; accepted: together with l2-bytes or device");
  CHECK(error.sentence("--") == "ways: 8 is not valid; accepted: together with --l2-bytes or --device");
  CHECK(error.sentence("") == error.what());
  CHECK(error.accepted() == "together with l2-bytes or device");
}

TEST_CASE("an error that mentions no other parameter reads the same with any prefix") {
  CHECK(InvalidParameter("window", "9", "1..8").sentence("--") == "window: 9 is not valid; accepted: 1..8");
  CHECK(UnknownName("device", "h20", "h200", "h100, h200").sentence("--") ==
        UnknownName("device", "h20", "h200", "h100, h200").what());
}

}  // namespace
