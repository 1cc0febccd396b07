// The project's own JSON value: what it reads, prints, compares and refuses.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace json_test {

using natten_sim::Json;
using natten_sim::json_text;
using natten_sim::JsonLayout;
using natten_sim::MalformedData;
using natten_sim::parse_json;
using natten_sim::parse_leading_scalars;
using natten_sim::parse_unique_json;
using natten_sim::require_unique_keys;

/// Parsed and printed again.
std::string again(const std::string& text) { return parse_json(text).dump(); }

/// What the document is refused with by require_unique_keys; "taken" if it is not.
std::string refusal(const std::string& text) {
  try {
    require_unique_keys(text, "file");
  } catch (const MalformedData& error) {
    return error.value();
  }
  return "taken";
}

TEST_CASE("json: each kind of value is told from the others and read back") {
  const Json value =
      parse_json(R"({"a": null, "b": true, "c": -5, "d": 5, "e": 0.5, "f": "x", "g": [1, 2], "h": {}})");
  REQUIRE(value.is_object());
  CHECK(value.size() == 8);
  CHECK(value["a"].is_null());
  CHECK(value["b"].get<bool>());
  CHECK(value["c"].get<std::int64_t>() == -5);
  CHECK(value["c"].is_number_integer());
  CHECK_FALSE(value["c"].is_number_unsigned());
  CHECK(value["d"].is_number_unsigned());
  CHECK(value["e"].is_number_float());
  CHECK(value["e"].get<double>() == 0.5);
  CHECK(value["f"].get<std::string>() == "x");
  CHECK(value["g"].get<std::vector<int>>() == std::vector<int>{1, 2});
  CHECK(value["h"].is_object());
  CHECK(value["h"].empty());
}

TEST_CASE("json: members keep the order in which they are set, and a pair list is an object") {
  Json object = {{"z", 1}, {"a", {1, 2}}};
  object["m"]["inner"] = "new";
  CHECK(object.dump() == R"({"z":1,"a":[1,2],"m":{"inner":"new"}})");
  object["z"] = 3;  // stays in its place
  object.update({{"a", nullptr}, {"q", false}});
  CHECK(object.dump() == R"({"z":3,"a":null,"m":{"inner":"new"},"q":false})");
  CHECK(object.erase("z") == 1);
  CHECK(object.erase("z") == 0);
  CHECK_FALSE(object.contains("z"));
  CHECK(Json::array({Json::array({"a", 1})}).dump() == R"([["a",1]])");  // array() makes no object of pairs
  CHECK(Json::array().dump() == "[]");
  CHECK(Json::object().dump() == "{}");
}

TEST_CASE("json: indented text has two blanks a level, and empty arrays and objects stay on their line") {
  const Json value = {{"a", Json::array({1, Json::object()})}, {"b", Json::array()}};
  CHECK(json_text(value, JsonLayout::kIndented) == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST_CASE("json: 64-bit integers are exact from the least to the largest") {
  for (const std::string text : {"-9223372036854775808", "9223372036854775807", "18446744073709551615", "0",
                                 "-1", "9007199254740993"}) {
    CHECK(again(text) == text);
  }
  CHECK(parse_json("-9223372036854775808").get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_json("18446744073709551615").get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  // 2^64 is no integer of any kind any more: a double, which is exact here.
  CHECK(parse_json("18446744073709551616").is_number_float());
  CHECK(parse_json("18446744073709551616").get<double>() == 0x1p64);
}

TEST_CASE("json: a double is printed with the fewest digits that read back as the same double") {
  CHECK(Json(0.1).dump() == "0.1");
  CHECK(Json(1.0).dump() == "1.0");  // stays a number with a fraction
  CHECK(Json(0.1 + 0.2).dump() == "0.30000000000000004");
  CHECK(Json(5e-324).dump() == "5e-324");
  CHECK(Json(-0.0).dump() == "-0.0");
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    double value = 0;
    const std::uint64_t bits = random();
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double back = parse_json(Json(value).dump()).get<double>();
    CHECK(std::memcmp(&back, &value, sizeof value) == 0);
  }
}

TEST_CASE("json: what is no number is null, and what no double holds is refused") {
  CHECK(Json(std::numeric_limits<double>::infinity()).dump() == "null");
  CHECK(Json(std::nan("")).dump() == "null");
  CHECK_THROWS_AS(parse_json("1e999"), MalformedData);
  CHECK(Json::of_digits("170141183460469231731687303715884105728").dump() ==
        "170141183460469231731687303715884105728");  // 2^127, which a count may be
}

TEST_CASE("json: numbers compare by value, objects with their order") {
  CHECK(Json(1) == Json(1.0));
  CHECK(Json(1u) == Json(1));
  CHECK(Json(-1) < Json(std::numeric_limits<std::uint64_t>::max()));
  CHECK_FALSE(Json(-1) == Json(std::numeric_limits<std::uint64_t>::max()));
  CHECK(parse_json(R"({"a":1,"b":2})") == parse_json(R"({"a":1.0,"b":2})"));
  CHECK_FALSE(parse_json(R"({"a":1,"b":2})") == parse_json(R"({"b":2,"a":1})"));
  CHECK_FALSE(Json("1") == Json(1));
}

TEST_CASE("json: of a key that appears twice the last value counts, and strict reading refuses it") {
  CHECK(again(R"({"a": 1, "b": 2, "a": 3})") == R"({"a":3,"b":2})");
  CHECK(refusal(R"({"a": 1, "a": 3})") == "key 'a' appears twice in one object");
  CHECK(refusal(R"([{"a": 1}, {"a": 3, "b": {"a": 4}}])") == "taken");  // one each
  CHECK(refusal(R"({"\u0061": 1, "a": 3})") == "key 'a' appears twice in one object");
}

TEST_CASE("json: strict reading takes 64 levels, not 65") {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  CHECK(refusal(nested(64)) == "taken");
  CHECK(refusal(nested(65)) == "nested more than 64 levels deep");
  CHECK(refusal(nested(1'000'000)) == "nested more than 64 levels deep");
  CHECK(again(nested(64)) == nested(64));
}

TEST_CASE("json: leading scalars are read as far as the first array or object") {
  const Json value = parse_leading_scalars(R"({"a": 1, "e": "x", "b": {"c": {"a": 2}}, "f": 3})");
  CHECK(value["a"] == 1);
  CHECK(value["e"] == "x");
  CHECK_FALSE(value.contains("f"));
  CHECK(parse_leading_scalars(R"({"a": 1, "d": [)")["a"] == 1);
  CHECK(parse_leading_scalars(R"({"a": 1})")["a"] == 1);
  CHECK_THROWS_AS(parse_leading_scalars(R"({"a": 1,)"), MalformedData);
}

TEST_CASE("json: text that is not JSON is refused, with the byte") {
  for (const char* text :
       {"",        " ",           "{",          "[1,]", "{\"a\":}",     "{a:1}",  "{'a':1}",
        "01",      "+1",          "1.",         ".5",   "0x10",         "NaN",    "Infinity",
        "-",       "tru",         "nul",        "\"a",  "\"\\x\"",      "\"\t\"", "[1] 2",
        "// c\n1", "\"\\ud800\"", "{\"a\":1,}", "1e",   "\xEF\xBB\xBF{"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_json(text), MalformedData);
    CHECK(refusal(text).starts_with("not JSON, at byte "));
  }
  CHECK(refusal(std::string("1\0 2", 4)) == "holds a NUL byte");
}

TEST_CASE("json: bytes that are not UTF-8 are refused when read, and replaced when printed") {
  for (const std::string bytes :
       {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"}) {
    INFO(bytes.size());
    CHECK_THROWS_AS(parse_json("\"" + bytes + "\""), MalformedData);
    CHECK(Json("a" + bytes).dump().find("\xEF\xBF\xBD") != std::string::npos);  // U+FFFD
    CHECK(parse_json(Json("a" + bytes).dump()).is_string());
  }
  CHECK(Json("\xE2\x82\xAC").dump() == "\"\xE2\x82\xAC\"");  // the euro sign stays
  CHECK(parse_json(R"("\u20ac\ud83d\ude00")").get<std::string>() == "\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("json: control characters, quotes and backslashes are escaped") {
  CHECK(Json("a\"b\\c\n\t\x01/").dump() == R"("a\"b\\c\n\t\u0001/")");
  CHECK(Json(std::string("\0", 1)).dump() == R"("\u0000")");
}

TEST_CASE("json: a value refuses to be what it is not") {
  const Json text = "x", array = Json::array({1});
  CHECK_THROWS_AS(text.get<std::int64_t>(), std::logic_error);
  CHECK_THROWS_AS(text.get<bool>(), std::logic_error);
  CHECK_THROWS_AS(array.get<std::string>(), std::logic_error);
  CHECK_THROWS_AS(array.at("key"), std::logic_error);
  CHECK_THROWS_AS(array.at(std::size_t{1}), std::logic_error);
  CHECK_THROWS_AS(text.items(), std::logic_error);
  CHECK_THROWS_AS(Json({{"a", 1}}).at("b"), std::logic_error);
  CHECK(Json({{"a", 1}}).value("b", 7) == 7);
}

/// A random document as text, with blanks where they may stand.
class RandomDocument {
 public:
  explicit RandomDocument(std::uint64_t seed) : random_(seed) {}
  std::string operator()(int depth = 0) {
    const std::uint64_t kind = below(depth > 4 ? 5 : 7);
    if (kind == 0) return blank() + (below(2) == 0 ? "null" : below(2) == 0 ? "true" : "false") + blank();
    if (kind == 1) return blank() + integer() + blank();
    if (kind == 2) return blank() + fraction() + blank();
    if (kind <= 4) return blank() + text() + blank();
    std::string list;
    const bool object = kind == 6;
    const std::uint64_t members = below(5);
    for (std::uint64_t i = 0; i < members; ++i) {
      if (i > 0) list += ',';
      // Keys of their own: of twins, nlohmann's objects may keep another place.
      if (object) list += blank() + "\"" + std::to_string(i) + text().substr(1) + blank() + ":";
      list += (*this)(depth + 1);
    }
    return blank() + (object ? "{" : "[") + (members == 0 ? blank() : list) + (object ? "}" : "]") + blank();
  }

 private:
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  std::string blank() {
    const char* kBlanks[] = {"", "", "", " ", "\n", "\t", "\r\n "};
    return kBlanks[below(7)];
  }
  std::string integer() {
    const std::uint64_t bits = random_() >> below(64);
    return below(2) == 0 ? std::to_string(bits) : std::to_string(static_cast<std::int64_t>(bits));
  }
  std::string fraction() {
    return (below(2) == 0 ? "-" : "") + std::to_string(below(1000)) + "." +
           std::to_string(random_() >> below(64)) +
           (below(2) == 0 ? "" : (below(2) == 0 ? "e-" : "E+") + std::to_string(below(200)));
  }
  std::string text() {
    const char* kParts[] = {"a",        "Z",
                            " ",        "\\n",
                            "\\\"",     "\\\\",
                            "\\/",      "\\u0007",
                            "\\u00e9",  "\\ud83d\\ude00",
                            "\xC3\xA9", "\xE2\x82\xAC",
                            "\x7f",     "{",
                            "]",        ":",
                            ","};
    std::string text = "\"";
    for (std::uint64_t i = below(6); i > 0; --i) text += kParts[below(17)];
    return text + "\"";
  }

  std::mt19937_64 random_;
};

TEST_CASE("json: random documents read and print as nlohmann's ordered values do") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomDocument document(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = document();
    INFO(text);
    const auto reference = nlohmann::ordered_json::parse(text);
    const Json value = parse_json(text);
    CHECK(value.dump() == reference.dump());
    CHECK(json_text(value, JsonLayout::kIndented) == reference.dump(2));
    CHECK(parse_json(value.dump()) == value);
    CHECK(parse_unique_json(text, "text") == value);
    CHECK(refusal(text) == "taken");
  }
}

TEST_CASE("json: a random document with one byte changed is refused exactly when nlohmann refuses it") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomDocument document(seed);
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = document();
    text[random() % text.size()] = static_cast<char>(1 + random() % 255);
    INFO(text);
    const bool accepted = nlohmann::ordered_json::accept(text);
    refused += accepted ? 0 : 1;
    bool read = true;
    try {
      (void)parse_json(text);
    } catch (const MalformedData&) {
      read = false;
    }
    CHECK(read == accepted);
  }
  CHECK(refused > 100);
}

}  // namespace json_test
