// What every kernel that suites may name keeps, one added from outside too.
#include <set>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/validate/compare/suite.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace case_contract_test {

using namespace natten_sim;
using namespace natten_sim::validate;

/// Some points of every suite: the first, the last, and some at even distances; without `between` the first, and of
/// suites that are quick to compare the last.
std::vector<Point> some_points(bool between = true) {
  std::vector<Point> points;
  for (const Suite& suite : builtin_suites()) {
    const std::size_t step = between ? suite.points.size() / 7 + 1 : suite.points.size();
    for (std::size_t i = 0; i < suite.points.size(); i += step) points.push_back(suite.points[i]);
    if (between || !test::is_slow(suite.name)) points.push_back(suite.points.back());
  }
  return points;
}

std::string word_of(const Parameter& parameter) {
  const auto* const text = std::get_if<std::string>(&parameter.value);
  const auto* const flag = std::get_if<bool>(&parameter.value);
  const std::string value = text != nullptr   ? *text
                            : flag != nullptr ? (*flag ? "true" : "false")
                                              : std::to_string(std::get<std::int64_t>(parameter.value));
  return parameter.name + "=" + value;
}

std::vector<std::string> words_of(const Point& point) {
  std::vector<std::string> words;
  for (const Parameter& parameter : point->parameters()) words.push_back(word_of(parameter));
  return words;
}

TEST_CASE("every kernel has a suite that measures it") {
  std::set<std::string> measured;
  for (const Point& point : some_points()) measured.insert(word_of(point->parameters().front()));
  for (const CaseKind& kind : case_kinds()) {
    INFO(kind.kernel);
    CHECK(measured.contains("kernel=" + kind.kernel));
  }
}

TEST_CASE("a point read back from its own parameters is the same point") {
  for (const Point& point : some_points()) {
    INFO(key_of(point));
    const Point again = parse_point_words(words_of(point));
    CHECK(key_of(again) == key_of(point));
    CHECK(words_of(again) == words_of(point));
    CHECK_FALSE(group_of(point).empty());
  }
}

TEST_CASE("a parameter that a kernel does not have is refused") {
  for (const Point& point : some_points()) {
    std::vector<std::string> words = words_of(point);
    words.emplace_back("colour=7");
    INFO(key_of(point));
    CHECK_THROWS_AS(parse_point_words(words), Error);
  }
}

TEST_CASE("predictions are of quantities that are measured, positive, and name their model") {
  const Device device = builtin_catalog().device("h200");
  std::size_t answered = 0;
  for (const Point& point : some_points(false)) {
    for (const Prediction& prediction : predict(point, device)) {
      INFO(key_of(point) << ": " << prediction.model);
      CHECK_NOTHROW(compared_quantity(prediction.counter));
      CHECK_FALSE(prediction.model.empty());
      CHECK(prediction.value >= 0);
      ++answered;
    }
  }
  CHECK(answered > some_points(false).size());
  CHECK_THROWS_AS(predict(some_points().front(), device, Fidelity::kLru), InvalidParameter);
}

TEST_CASE("what is run to check a point is the same kernel, no larger, and checks to itself") {
  for (const Point& point : some_points()) {
    INFO(key_of(point));
    const std::vector<Point> checked = point->to_check(CheckLengths::kShort);
    if (point.as<ForeignCase>() != nullptr) {  // a script measures it
      CHECK(checked.empty());
      continue;
    }
    REQUIRE_FALSE(checked.empty());
    for (const Point& each : checked) {
      CHECK(word_of(each->parameters().front()) == word_of(point->parameters().front()));
      CHECK_NOTHROW(each->require_built());
    }
  }
}

TEST_CASE("a sawtooth's partner differs in the order alone and has none itself") {
  std::size_t partners = 0;
  for (const Point& point : some_points()) {
    const std::optional<Point> partner = point->cyclic_partner();
    if (!partner) continue;
    INFO(key_of(point));
    ++partners;
    CHECK_FALSE((*partner)->cyclic_partner().has_value());
    const std::vector<std::string> mine = words_of(point), theirs = words_of(*partner);
    REQUIRE(mine.size() == theirs.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) different += mine[i] != theirs[i] ? 1 : 0;
    CHECK(different == 1);
  }
  CHECK(partners > 0);
}

}  // namespace case_contract_test
