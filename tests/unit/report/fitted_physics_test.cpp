// What `list transfers` says a fit gives is what data/tile-physics.json holds.
#include <string>

#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "shared_context.hpp"

namespace fitted_physics_test {

using namespace natten_sim;

TEST_CASE("the shipped constants and errors of transfers are those that measured cells give") {
  const Json shipped = parse_json(read_text("physics", std::string(test::kSourceDir) + "/data/tile-physics.json"));
  const Json beside = report::catalog_table("transfers").beside(test::shared_context().catalog);
  for (const char* fitted : {"constants", "factors", "transfers"}) {
    INFO(fitted);
    CHECK(beside["fit"][fitted] == shipped[fitted]);
  }
}

}  // namespace fitted_physics_test
