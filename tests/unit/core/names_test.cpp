#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

TEST_CASE("the closest name forgives a slip and refuses nonsense") {
  const std::vector<std::string> names = {"hunyuan-video", "flux1-dev-4k", "cosmos-predict1-7b", "h100",
                                          "h200"};
  CHECK(closest_name("hunyan-video", names) == "hunyuan-video");
  CHECK(closest_name("hunyuan", names) == "hunyuan-video");
  CHECK(closest_name("flux1-dve-4k", names) == "flux1-dev-4k");
  CHECK(closest_name("h20", names) == "h200");
  CHECK(closest_name("H100", names) == "h100");
  CHECK(closest_name("Hunyuan", names) == "hunyuan-video");
  CHECK(closest_name("swin", names).empty());
  CHECK(closest_name("", names).empty());
}

TEST_CASE("a repeated key is refused wherever it stands, the same key in two objects is not") {
  CHECK_NOTHROW(require_unique_keys(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]})", "text"));
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1, "a": 2})", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"b": [{"a": 1, "a": 1}]})", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1)", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys("", "text"), MalformedData);
  CHECK_THROWS_AS(require_unique_keys(R"({"a": 1} x)", "text"), MalformedData);
}

}  // namespace
