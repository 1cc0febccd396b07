#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/measure/counters.hpp>

#include "registry/point_json.hpp"

namespace natten_sim::validate {
namespace {

constexpr std::size_t kMaxPoints = 10'000;
constexpr std::size_t kMaxParameters = 64;  // of a sweep; no kernel has half as many

/// The product of all parameters that are lists, of at most `most` points.
std::vector<Json> expand(const Json& sweep, const std::string& where, std::size_t most) {
  if (sweep.size() > kMaxParameters) {
    throw MalformedData(where, std::to_string(sweep.size()) + " parameters",
                        "at most " + std::to_string(kMaxParameters) + " parameters in a sweep");
  }
  std::vector<Json> points = {Json::object()};
  for (const auto& [key, value] : sweep.items()) {
    const Json values = value.is_array() ? value : Json::array({value});
    const std::size_t count = points.size() * values.size();
    if (count == 0 || count > most) {
      throw MalformedData(where + "." + key, std::to_string(count) + " more points",
                          "at least 1 in a sweep, at most " + std::to_string(kMaxPoints) + " in a suite");
    }
    std::vector<Json> longer;
    longer.reserve(count);
    for (const Json& point : points) {
      for (const Json& each : values) {
        longer.push_back(point);
        longer.back()[key] = each;
      }
    }
    points = std::move(longer);
  }
  return points;
}

Score parse_score(const Json& json, const std::string& where) {
  const StrictObject fields(json, where, {"points", "within", "median", "p90", "rank", "skill"});
  Score score{static_cast<std::size_t>(fields.integer("points", {1, 100000})), fields.number("within"),
                    fields.number("median"), fields.number("p90"), fields.number("rank")};
  if (!(score.within >= 0 && score.within <= 1)) fields.fail("within", "a share, 0..1");
  if (!(score.median >= 0)) fields.fail("median", "a deviation of 0 or more");
  if (!(score.p90 >= score.median)) fields.fail("p90", "a deviation of the median or more");
  if (!(score.rank >= -1 && score.rank <= 1)) fields.fail("rank", "a correlation, -1..1");
  if (fields.has("skill")) score.skill = fields.number("skill");
  if (score.skill && !(*score.skill <= 1)) fields.fail("skill", "1 or less");
  return score;
}

Tolerance parse_tolerance(const Json& json, const std::string& where) {
  const StrictObject fields(json, where, {"counter", "model", "group", "relative", "score"});
  Tolerance tolerance{compared_quantity(fields.text("counter")), fields.text_or("model", ""),
                      fields.text_or("group", ""), fields.number("relative"), std::nullopt};
  if (json.contains("score")) tolerance.score = parse_score(json.at("score"), where + ".score");
  if (!(tolerance.relative >= 0)) fields.fail("relative", "a deviation of 0 or more");
  return tolerance;
}

KnownMiss parse_known_miss(const Json& json, const std::string& where) {
  const StrictObject fields(json, where, {"counter", "model", "point", "worst", "points", "cause"});
  const KnownMiss miss{compared_quantity(fields.text("counter")),
                       fields.text_or("model", ""),
                       fields.text("point"),
                       fields.number("worst"),
                       static_cast<std::size_t>(fields.integer("points", {1, 100000})),
                       fields.text("cause")};
  if (miss.point.empty()) fields.fail("point", "part of a point's key");
  if (!(miss.worst > 0)) fields.fail("worst", "a deviation of more than 0");
  if (miss.cause.empty()) fields.fail("cause", "what was found out");
  return miss;
}

std::vector<Point> parse_sweeps(const Json& sweeps, const std::string& where) {
  std::vector<Point> points;
  std::set<std::string> keys;
  for (const Json& sweep : sweeps) {
    if (!sweep.is_object()) throw MalformedData(where, sweep.dump(), "objects");
    for (const Json& parameters : expand(sweep, where, kMaxPoints - points.size())) {
      points.push_back(parse_point(parameters, where));
      points.back()->require_built();
      const std::string key = key_of(points.back());
      if (!keys.insert(key).second) throw MalformedData(where, key, "each point once");
    }
  }
  return points;
}

}  // namespace

Suite parse_suite(std::string_view json, const std::string& where) {
  const Json root = parse_strict(json, where, "natten-sim.suite/1");
  const StrictObject fields(root, where,
                            {"schema", "name", "place", "title", "counters", "timed", "paced", "fitted", "rest",
                             "sweeps", "tolerances", "known_misses"});
  Suite suite;
  suite.name = fields.text("name");
  suite.title = fields.text("title");
  suite.place = fields.integer_or("place", INT32_MAX, {0, INT32_MAX});
  for (const Json& label : fields.array("counters")) {
    suite.counters.emplace_back(counter(label.is_string() ? label.get<std::string>() : label.dump()).label);
  }
  suite.timed = fields.boolean_or("timed", true);
  suite.paced = fields.boolean_or("paced", false);
  suite.fitted = fields.boolean_or("fitted", false);
  if (fields.has("rest")) suite.rest = fields.number("rest");
  if (!(suite.rest >= 0 && suite.rest <= 100)) fields.fail("rest", "0..100 durations of a launch");
  suite.points = parse_sweeps(fields.array("sweeps"), where + ".sweeps");
  for (const Json& each : fields.array("tolerances"))
    suite.tolerances.push_back(parse_tolerance(each, where + ".tolerances"));
  if (!fields.has("known_misses")) return suite;
  for (const Json& each : fields.array("known_misses"))
    suite.known_misses.push_back(parse_known_miss(each, where + ".known_misses"));
  return suite;
}

const std::vector<Suite>& builtin_suites() {
  static const std::vector<Suite> suites = [] {
    std::vector<Suite> all;
    for (const SuiteText& text : suite_texts()) all.push_back(parse_suite(text.json, text.where));
    std::sort(all.begin(), all.end(), [](const Suite& a, const Suite& b) {
      return std::tie(a.place, a.name) < std::tie(b.place, b.name);
    });
    std::set<std::string> names;
    for (const Suite& suite : all) {
      if (!names.insert(suite.name).second) throw MalformedData("suites", suite.name, "each suite once");
    }
    return all;
  }();
  return suites;
}

std::vector<std::string> builtin_suite_names() {
  std::vector<std::pair<int, std::string>> placed;
  for (const SuiteText& text : suite_texts()) {
    const Json head = parse_leading_scalars(text.json);
    placed.emplace_back(head.value("place", INT32_MAX), head.at("name").get<std::string>());
  }
  std::sort(placed.begin(), placed.end());
  std::vector<std::string> names;
  for (auto& [place, name] : placed) names.push_back(std::move(name));
  return names;
}

const Suite& find_suite(const std::vector<Suite>& suites, const std::string& name) {
  std::vector<std::string> names;
  std::string known;
  for (const Suite& suite : suites) {
    if (suite.name == name) return suite;
    names.push_back(suite.name);
    known += (known.empty() ? "" : ", ") + suite.name;
  }
  throw UnknownName("suite", name, closest_name(name, names), known);
}

}  // namespace natten_sim::validate
