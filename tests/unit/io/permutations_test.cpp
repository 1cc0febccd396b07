#include <natten_sim/core/error.hpp>
#include <natten_sim/io/permutations.hpp>

#include "catch.hpp"

namespace permutations_test {

using namespace natten_sim;

std::string refused(const std::string& text) {
  try {
    (void)parse_permutations(text, "order mine");
  } catch (const MalformedData& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("permutations: a line a pass, comments and empty lines aside") {
  const auto passes = parse_permutations("# two\n0 1 2\r\n\n2,1\t0 # down\n", "order").passes;
  REQUIRE(passes.size() == 2);
  CHECK(passes[0] == std::vector<std::int32_t>{0, 1, 2});
  CHECK(passes[1] == std::vector<std::int32_t>{2, 1, 0});
  CHECK(parse_permutations("7", "order").passes.front() == std::vector<std::int32_t>{7});  // no line break
}

TEST_CASE("permutations: what is not a tile number is refused with its place") {
  CHECK(refused("0 1\n0 1 two 3\n").find("order mine, line 2: not a tile number at column 5") == 0);
  CHECK(refused("-1").find("line 1: not a tile number at column 1") != std::string::npos);
  CHECK(refused("4294967296").find("column 1") != std::string::npos);
  CHECK(refused("# nothing\n").find("no permutation") != std::string::npos);
  CHECK(refused("").find("no permutation") != std::string::npos);
}

}  // namespace permutations_test
