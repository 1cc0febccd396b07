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
  ObjectReader reader(json, where);
  Suite suite;
  suite.name = reader.get<std::string>("name");
  suite.title = reader.get<std::string>("title");
  for (const Json& label : reader.array("counters")) {
    suite.counters.emplace_back(counter(label.is_string() ? label.get<std::string>() : label.dump()).label);
  }
  suite.timed = reader.get<bool>("timed", true);
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
    ObjectReader tolerance(each, where + ".tolerances");
    suite.tolerances.push_back({compared_quantity(tolerance.get<std::string>("counter")),
                                tolerance.get<std::string>("model", ""),
                                tolerance.get<std::string>("group", ""), tolerance.get<double>("relative")});
    tolerance.finish();
  }
  for (const Json& each : reader.array("known_misses")) {
    ObjectReader miss(each, where + ".known_misses");
    suite.known_misses.push_back({compared_quantity(miss.get<std::string>("counter")),
                                  miss.get<std::string>("model", ""), miss.get<std::string>("point"),
                                  miss.get<double>("worst"), miss.get<std::string>("cause")});
    miss.finish();
  }
  reader.finish();
  return suite;
}

}  // namespace

std::vector<Suite> parse_suites(std::string_view json, const std::string& where) {
  const Json root = parse_object(json, where);
  ObjectReader reader(root, where);
  if (const auto schema = reader.get<std::string>("schema"); schema != "natten-sim.validation/1") {
    throw MalformedData(where + ".schema", schema, "natten-sim.validation/1");
  }
  std::vector<Suite> suites;
  std::set<std::string> names;
  for (const Json& each : reader.array("suites")) {
    suites.push_back(parse_suite(each, where + ".suites[" + std::to_string(suites.size()) + "]"));
    if (!names.insert(suites.back().name).second)
      throw MalformedData(where, suites.back().name, "each suite once");
  }
  if (reader.has("kernel_rates")) (void)reader.object("kernel_rates");
  reader.finish();
  return suites;
}

const std::vector<MeasuredRate>& builtin_rates() {
  static const std::vector<MeasuredRate> rates = [] {
    const std::string where = "data/validation.json";
    const Json root = parse_object(embedded::validation, where);
    ObjectReader all = ObjectReader(root, where).object("kernel_rates");
    std::vector<MeasuredRate> read;
    for (const Json& each : all.array("rates")) {
      ObjectReader reader(each, where + ".kernel_rates.rates");
      MeasuredRate rate;
      rate.device = reader.get<std::string>("device");
      rate.problem.head_dim = reader.get<std::int64_t>("head_dim");
      rate.problem.heads = rate.problem.heads_kv = reader.get<std::int64_t>("heads");
      rate.problem.tokens = reader.get<std::int64_t>("tokens");
      rate.variant.q_tile = reader.get<int>("q_tile");
      rate.variant.kv_tile = reader.get<int>("kv_tile");
      rate.variant.stages = reader.get<int>("stages");
      rate.variant.ctas_per_sm = reader.get<int>("ctas_per_sm");
      rate.flops_per_s = reader.get<double>("flops_per_s");
      reader.finish();
      read.push_back(rate);
    }
    (void)all.get<std::string>("source");
    all.finish();
    return read;
  }();
  return rates;
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
