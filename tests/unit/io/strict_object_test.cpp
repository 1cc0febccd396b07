// The reader of all JSON objects: every value that is not what was asked for is refused, with place and key.

#include <natten_sim/io/strict_object.hpp>

#include <string>

#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/io/msda_data.hpp>

#include "catch.hpp"

namespace strict_object_test {

using namespace natten_sim;
using Json = StrictObject::Json;

/// The message of the refusal; empty when there was none.
template <typename Read>
std::string refusal(Read read) {
  try {
    (void)read();
  } catch (const MalformedData& error) {
    return error.what();
  }
  return "";
}

std::string integer_refusal(const std::string& value) {
  const Json json = Json::parse(R"({"n": )" + value + "}");
  return refusal([&] { return StrictObject(json, "place").integer("n"); });
}

TEST_CASE("integers are those of 64 bits: none beyond comes out negative") {
  const Json most = Json::parse(R"({"n": 9223372036854775807, "m": -9223372036854775808})");
  CHECK(StrictObject(most, "place").integer("n") == INT64_MAX);
  CHECK(StrictObject(most, "place").integer("m") == INT64_MIN);
  for (const char* value :
       {"9223372036854775808", "18446744073709551615", "1e3", "1.0", "\"1\"", "true", "[1]", "{}"}) {
    INFO(value);
    CHECK(integer_refusal(value).starts_with("place: 'n' is "));
  }
  CHECK(integer_refusal("null").find("'n' is missing") != std::string::npos);
}

TEST_CASE("a range is kept at both ends, and named") {
  for (const auto& [value, fits] : {std::pair{0, false}, {1, true}, {8, true}, {9, false}, {-1, false}}) {
    const Json json = {{"n", value}};
    const std::string message = refusal([&] {
      return StrictObject(json, "p").integer("n", {1, 8});
    });
    CHECK(message.empty() == fits);
    if (!fits) CHECK(message.find("1..8") != std::string::npos);
  }
  const Json wide = Json::parse(R"({"n": 2147483648, "m": -2147483648})");
  CHECK_FALSE(refusal([&] { return StrictObject(wide, "p").integer32("n"); }).empty());
  CHECK(StrictObject(wide, "p").integer32("m") == INT32_MIN);
}

TEST_CASE("keys are those that are known, and the closest is suggested") {
  const Json json = {{"tokens", 1}, {"haeds", 2}};
  CHECK(refusal([&] {
          return StrictObject(json, "p", {"tokens", "heads"});
        }) == "p: unknown key 'haeds', did you mean 'heads'?; accepted: the documented keys");
  CHECK(refusal([&] { return StrictObject(json, "p", {"tokens", "haeds"}); }).empty());
  CHECK(refusal([&] { return StrictObject(Json::array(), "p"); }) ==
        "p: not an object; accepted: a JSON object");
}

TEST_CASE("null is absent, and a fallback is for what is absent only") {
  const Json json = {{"a", nullptr}, {"b", "text"}};
  const StrictObject fields(json, "p");
  CHECK_FALSE(fields.has("a"));
  CHECK(fields.is_null("a"));
  CHECK_FALSE(fields.is_null("c"));
  CHECK(fields.integer_or("a", 7) == 7);
  CHECK(fields.integer_or("c", 7) == 7);
  CHECK_FALSE(refusal([&] { return fields.integer_or("b", 7); }).empty());
  CHECK_FALSE(refusal([&] { return fields.boolean_or("b", true); }).empty());
  CHECK_FALSE(refusal([&] { return fields.number("b"); }).empty());
  CHECK_FALSE(refusal([&] { return fields.array("a"); }).empty());
  CHECK(fields.text_or("b", "") == "text");
}

TEST_CASE("documents are one object of their schema, whatever they are instead") {
  const auto read = [](const std::string& text) {
    return refusal([&] { return parse_strict(text, "p", "natten-sim.x/1"); });
  };
  CHECK(read(R"({"schema": "natten-sim.x/1"})").empty());
  for (const std::string& text :
       {std::string(R"({"schema": "natten-sim.x/2"})"), std::string(R"({"schema": 5})"), std::string("{}"),
        std::string(R"({"schema": null})"), std::string("[]"), std::string("5"), std::string(),
        std::string("{"), std::string(R"({"schema": "natten-sim.x/1"} {})"),
        std::string(R"({"schema": "natten-sim.x/1", "a": 1e999})"),
        std::string(R"({"schema": "natten-sim.x/1", "a": NaN})"),
        std::string(R"({"schema": "natten-sim.x/1", "schema": "natten-sim.x/1"})"), std::string(100000, '['),
        std::string("{\"schema\": \"natten-sim.x/1\", \"a\": \"\xff\"}")}) {
    INFO(text.substr(0, 80));
    CHECK(read(text).starts_with("p"));
  }
  CHECK_THROWS_AS(read_msda_configs(R"({"schema": 5, "configs": []})", "p"), MalformedData);
}

}  // namespace strict_object_test
