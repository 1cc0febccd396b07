// Costs of backward kernels as files: what may be left out, and what is refused.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/schedule_costs.hpp>

#include "catch.hpp"

namespace schedule_costs_test {

using namespace natten_sim;

const ScheduleCostSet& read_again(Catalog& catalog, const Json& json) {
  add_schedule_costs(catalog, json.dump(), "costs.json");
  return catalog.schedule_costs.front();
}

TEST_CASE("costs of a draw and of an ordered chain may be left out of a file, and are kept where it has them") {
  const Catalog& shipped = builtin_catalog();
  Json ours = to_json(shipped.schedule_cost_set("ours-h200-d64"));
  CHECK(ours.at("tasks").front().at("draw_us") > 0);
  CHECK(ours.at("tasks").front().at("ordered_chain_us") > 0);
  const Json fa4 = to_json(shipped.schedule_cost_set("fa4-h200-d64"));
  CHECK_FALSE(fa4.at("tasks").front().contains("draw_us"));
  CHECK_FALSE(fa4.at("tasks").front().contains("ordered_chain_us"));
  Catalog catalog;
  CHECK(read_again(catalog, ours) == shipped.schedule_cost_set("ours-h200-d64"));
  ours["tasks"].front().erase("ordered_chain_us");
  ours["tasks"].front().erase("draw_us");
  const ScheduleCostSet& without = read_again(catalog, ours);
  CHECK(without.tasks.front().ordered_chain_us == 0);
  CHECK(without.tasks.front().draw_us == 0);
  ours["tasks"].front()["ordered_chain_us"] = -1;
  CHECK_THROWS_AS(add_schedule_costs(catalog, ours.dump(), "costs.json"), MalformedData);
  ours["tasks"].front().erase("ordered_chain_us");
  ours["tasks"].front()["draw_us"] = "soon";
  CHECK_THROWS_AS(add_schedule_costs(catalog, ours.dump(), "costs.json"), MalformedData);
}

TEST_CASE("judged times may be left out of a file, are kept where it has them, and refused where they make no sense") {
  const Catalog& shipped = builtin_catalog();
  CHECK_FALSE(to_json(shipped.schedule_cost_set("fa3-h100-d128")).contains("judged"));
  Json costs = to_json(shipped.schedule_cost_set("fa4-h200-d64"));
  Catalog catalog;
  CHECK(read_again(catalog, costs) == shipped.schedule_cost_set("fa4-h200-d64"));
  costs["judged"] = Json::array({{"window:8,0", "spt", 512, 16, 4, .5, .25}});
  const JudgedTime read = read_again(catalog, costs).judged.at(0);
  CHECK(read == JudgedTime{"window:8,0", "spt", 512, 16, 4, .5, .25});
  for (const char* row : {"7", "[]", R"(["full", "spt", 512, 16, 4, 0.5])", R"(["full", "spt", 512, 16, 4, 0.5, "1"])",
                          R"(["full", 3, 512, 16, 4, 0.5, 0.5])", R"(["full", "spt", 0, 16, 4, 0.5, 0.5])",
                          R"(["full", "spt", 512, 1.5, 4, 0.5, 0.5])", R"(["full", "spt", 512, 16, 4, 0, 0.5])",
                          R"(["full", "spt", 512, 16, 4, 0.5, -1])"}) {
    INFO(row);
    costs["judged"] = Json::array({Json::parse(row)});
    CHECK_THROWS_AS(add_schedule_costs(catalog, costs.dump(), "costs.json"), MalformedData);
  }
}

}  // namespace schedule_costs_test
