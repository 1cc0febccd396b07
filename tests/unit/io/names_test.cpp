#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "catch.hpp"

namespace names_test {

using namespace natten_sim;

TEST_CASE("the closest name forgives a slip and refuses nonsense") {
  const std::vector<std::string> names = {"hunyuan-video", "flux1-dev-4k", "cosmos-predict1-7b", "h100",
                                          "h200"};
  CHECK(closest_name("hunyan-video", names) == "hunyuan-video");
  CHECK(closest_name("hunyuan", names) == "hunyuan-video");
  CHECK(closest_name("flux1-dve-4k", names) == "flux1-dev-4k");
  CHECK(closest_name("H100", names) == "h100");
  CHECK(closest_name("Hunyuan", names) == "hunyuan-video");
  CHECK(closest_name("swin", names).empty());
  CHECK(closest_name("", names).empty());
}

TEST_CASE("dashes of an option are no letters: a short name forgives one slip") {
  const std::vector<std::string> flags = {"--dim", "--window", "-w"};
  CHECK(closest_name("--time", flags).empty());
  CHECK(closest_name("--din", flags) == "--dim");
  CHECK(closest_name("--wdinow", flags) == "--window");
}

TEST_CASE("a name with another number in it is another thing, not a slip") {
  const std::vector<std::string> names = {"b200", "h100", "h200", "wan2-1-14b-720p", "fp16", "fp32"};
  for (const char* other : {"b300", "h20", "a100x2", "fp8", "wan2-2-14b-720p"}) {
    INFO(other);
    CHECK(closest_name(other, names).empty());
  }
  CHECK(closest_name("hh200", names) == "h200");
  CHECK(closest_name("Wan 2.1", names) == "wan2-1-14b-720p");
  CHECK(closest_name("wan2-1-14b", names) == "wan2-1-14b-720p");
  CHECK(closest_name("wan-14b-720p", names) == "wan2-1-14b-720p");
}

TEST_CASE("a repeated key is refused wherever it stands, the same key in two objects is not") {
  CHECK_NOTHROW(require_unique_keys(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]})", "text"));
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1, "a": 2})", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"b": [{"a": 1, "a": 1}]})", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1)", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys("", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1} x)", "text"), MalformedData);
}

}  // namespace names_test
