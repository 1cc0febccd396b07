#include "diff/text_diff.hpp"

#include <random>
#include <string>

#include <natten_sim/io/json_text.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace text_diff_test {

using namespace natten_sim;

const report::DiffRules kRules{.tolerance = 0.01, .ignored = {"version", "commit"}};

std::int64_t values_of(const std::string& text) {
  const auto diff = cli::text_diff("", text, text, kRules);
  return diff ? diff->values : -1;
}

TEST_CASE("values are counted without a parser, ignored members at any depth left out") {
  CHECK(values_of(R"({"a": 1, "b": [1, -2.5e3, null], "c": {}, "d": [], "e": "x"})") == 5);
  CHECK(values_of(R"({"version": {"a": 1}, "b": {"commit": "x", "c": true}})") == 1);
  CHECK(values_of(R"({"a": "a quote \" and }, a backslash \\"})") == 1);
  CHECK(values_of("[]") == 0);
}

TEST_CASE("what is not plain JSON is left to a parser") {
  for (const char* text : {"", "{", "{\"a\" 1}", "{\"a\": 1,}", "{\"a\": x}", "{\"a\\n\": 1}", "[1 2]",
                           "{\"a\": 1} 2", "\"open", "{\"a\": \"b\\", "[1,]", "[", "nul"}) {
    INFO(text);
    CHECK(values_of(text) == -1);
  }
  CHECK(values_of(std::string(1'000, '[') + std::string(1'000, ']')) == -1);
}

TEST_CASE(
    "texts of another shape, or with a difference among objects that have names, are left to a parser") {
  for (const auto& [a, b] :
       {std::pair{R"({"a": 1})", R"({"b": 1})"}, std::pair{R"({"a": 1})", R"({"a": 1, "b": 1})"},
        std::pair{R"({"a": 1, "b": 1})", R"({"b": 1, "a": 1})"}, std::pair{"[1, 2]", "[1]"},
        std::pair{R"({"a": 1})", R"({"a": {}})"}, std::pair{R"([{"t": 1}])", R"([{"t": 2}])"}}) {
    INFO(a << " and " << b);
    CHECK_FALSE(cli::text_diff("", a, b, kRules).has_value());
    CHECK_FALSE(cli::text_diff("", b, a, kRules).has_value());
  }
}

Json random_json(std::mt19937_64& random, int depth) {
  const auto draw = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  const int kind = depth == 0 ? 5 : draw(depth > 3 ? 3 : 5);
  if (kind == 0) return draw(1000);
  if (kind == 1) return draw(1000) / 7.0;
  if (kind == 2) return std::string(static_cast<std::size_t>(draw(3)), "x\"\\,"[draw(3)]);
  if (kind == 3) return nullptr;
  Json value = kind == 4 ? Json::array() : Json::object();
  for (int i = draw(4); i > 0; --i) {
    if (kind == 4) {
      value.push_back(random_json(random, depth + 1));
    } else {
      value[std::string(draw(5) == 0 ? "version" : "m" + std::to_string(i))] = random_json(random, depth + 1);
    }
  }
  return value;
}

/// Other numbers, and sometimes another text, in the same shape.
void change_values(std::mt19937_64& random, Json& value) {
  const auto draw = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  if (value.is_object() || value.is_array()) {
    for (Json& each : value) change_values(random, each);
  } else if (draw(3) == 0) {
    value = draw(2) == 0 ? Json("other") : Json(draw(1000));
  }
}

void check_same(const report::DocumentDiff& one, const report::DocumentDiff& other) {
  CHECK(one.values == other.values);
  REQUIRE(one.differences.size() == other.differences.size());
  CHECK(report::csv_text(report::diff_rows(one)) == report::csv_text(report::diff_rows(other)));
}

TEST_CASE("a comparison of texts is that of parsed ones, for random values") {
  std::mt19937_64 random(test::stored_seed());
  const int cases = test::cases(5'000);
  int compared = 0;
  for (int i = 0; i < cases; ++i) {
    const Json a = random_json(random, 0);
    Json b = a;
    change_values(random, b);
    INFO(json_text(a) << " and " << json_text(b));
    CHECK(values_of(json_text(a)) == report::part_diff("", &a, &a, kRules).values);
    const auto diff = cli::text_diff("[id=7]", json_text(a), json_text(b), kRules);
    if (!diff) continue;
    ++compared;
    check_same(*diff, report::part_diff("[id=7]", &a, &b, kRules));
  }
  CHECK(compared > cases * 2 / 5);
}

}  // namespace text_diff_test
