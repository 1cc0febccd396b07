#include <initializer_list>
#include <string>

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

TEST_CASE("whatever a file says, an error's sentence is short, and so are its parts") {
  const std::string long_text(100'000, 'x'), zeros(100'000, '\0');
  for (const std::string& text : {long_text, zeros, mention(long_text)}) {
    const InvalidParameter invalid(text, text, text, text);
    const UnknownName unknown(text, text, text, text);
    const MalformedData malformed(text, text, text);
    const LimitReached limit(text, text, text);
    const HardwareAbsent absent(text, text);
    const OverflowError overflow(text);
    for (const Error* error : std::initializer_list<const Error*>{&invalid, &unknown, &malformed, &limit, &absent, &overflow}) {
      CHECK(std::string(error->what()).size() <= 4096);
      CHECK(error->sentence("--").size() <= 4096);
      CHECK(error->parameter().size() + error->value().size() + error->accepted().size() + error->hint().size() <= 4096);
    }
  }
}

TEST_CASE("a value is cut off between characters") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xe2\x82\xac";  // the euro sign: 3 bytes
  const std::string value = InvalidParameter("x", text, "y").value();
  CHECK(value.size() == 198 + 2);  // 66 signs of 3 bytes are the most in 200, and two dots
}

}  // namespace error_test
