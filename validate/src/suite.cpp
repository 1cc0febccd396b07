#include <set>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/validate/counters.hpp>
#include <natten_sim/validate/saving.hpp>
#include <natten_sim/validate/suite.hpp>

#include "embedded_validation.hpp"
#include "point_json.hpp"

namespace natten_sim::validate {
namespace {

constexpr std::size_t kMostPoints = 100000;

/// The product of all parameters that are lists.
std::vector<Json> expand(const Json& sweep, const std::string& where) {
  std::vector<Json> points = {Json::object()};
  for (const auto& [key, value] : sweep.items()) {
    const Json values = value.is_array() ? value : Json::array({value});
    std::vector<Json> longer;
    for (const Json& point : points) {
      for (const Json& each : values) {
        longer.push_back(point);
        longer.back()[key] = each;
      }
    }
    if (longer.empty() || longer.size() > kMostPoints) {
      throw MalformedData(where + "." + key, std::to_string(longer.size()) + " points",
                          "1.." + std::to_string(kMostPoints) + " points in a sweep");
    }
    points = std::move(longer);
  }
  return points;
}

Suite parse_suite(const Json& json, const std::string& where) {
  const StrictObject reader(
      json, where, {"name", "title", "counters", "timed", "paced", "sweeps", "tolerances", "known_misses"});
  Suite suite;
  suite.name = reader.text("name");
  suite.title = reader.text("title");
  for (const Json& label : reader.array("counters")) {
    suite.counters.emplace_back(counter(label.is_string() ? label.get<std::string>() : label.dump()).label);
  }
  suite.timed = reader.boolean_or("timed", true);
  suite.paced = reader.boolean_or("paced", false);
  std::set<std::string> keys;
  for (const Json& sweep : reader.array("sweeps")) {
    if (!sweep.is_object()) throw MalformedData(where + ".sweeps", sweep.dump(), "objects");
    for (const Json& point : expand(sweep, where + ".sweeps")) {
      suite.points.push_back(parse_point(point, where + ".sweeps"));
      if (const auto* attention = std::get_if<AttentionPoint>(&suite.points.back())) {
        (void)kernels::require_valid(attention->problem, attention->variant);
      }
      const std::string key = key_of(suite.points.back());
      if (!keys.insert(key).second) throw MalformedData(where + ".sweeps", key, "each point once");
    }
  }
  for (const Json& each : reader.array("tolerances")) {
    const StrictObject fields(each, where + ".tolerances", {"counter", "model", "group", "relative"});
    suite.tolerances.push_back({compared_quantity(fields.text("counter")), fields.text_or("model", ""),
                                fields.text_or("group", ""), fields.number("relative")});
    if (!(suite.tolerances.back().relative >= 0)) fields.fail("relative", "a deviation of 0 or more");
  }
  for (const Json& each : reader.array("known_misses")) {
    const StrictObject fields(each, where + ".known_misses",
                              {"counter", "model", "point", "worst", "points", "cause"});
    suite.known_misses.push_back({compared_quantity(fields.text("counter")), fields.text_or("model", ""),
                                  fields.text("point"), fields.number("worst"),
                                  static_cast<std::size_t>(fields.integer("points", {1, 100000})),
                                  fields.text("cause")});
    if (suite.known_misses.back().point.empty()) fields.fail("point", "part of a point's key");
    if (!(suite.known_misses.back().worst > 0)) fields.fail("worst", "a deviation of more than 0");
    if (suite.known_misses.back().cause.empty()) fields.fail("cause", "what was found out");
  }
  return suite;
}

}  // namespace

std::vector<Suite> parse_suites(std::string_view json, const std::string& where) {
  const Json root = parse_strict(json, where, "natten-sim.validation/1");
  const StrictObject reader(root, where, {"schema", "suites"});
  std::vector<Suite> suites;
  std::set<std::string> names;
  for (const Json& each : reader.array("suites")) {
    suites.push_back(parse_suite(each, where + ".suites[" + std::to_string(suites.size()) + "]"));
    if (!names.insert(suites.back().name).second)
      throw MalformedData(where, suites.back().name, "each suite once");
  }
  return suites;
}

const std::vector<Suite>& builtin_suites() {
  static const std::vector<Suite> suites = parse_suites(embedded::validation, "data/validation.json");
  return suites;
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
