#include <natten_sim/io/model_data.hpp>

#include "catalog_reader.hpp"
#include "embedded_data.hpp"

namespace natten_sim {
namespace {

const char* const kShapesFile = "data/model-shapes.json";
const char* const kLinksFile = "data/links.json";

}  // namespace

ModelShapes model_shapes() {
  const Json document = parse_strict(embedded::model_shapes, kShapesFile, "natten-sim.model-shapes/1");
  const CatalogReader reader(document, kShapesFile);
  const StrictObject cost = reader.object("rest_cost", {"low", "value", "high", "source"});
  ModelShapes shapes;
  shapes.rest_cost = {cost.number("value"), cost.number("low"), cost.number("high")};
  for (const Json& entry : reader.array("models")) {
    const CatalogReader fields(entry, kShapesFile, {"preset", "layers", "layer_weights", "passes", "source"});
    shapes.models.push_back({.preset = fields.text("preset"),
                             .layers = fields.positive("layers"),
                             .layer_weights = fields.positive("layer_weights"),
                             .passes = fields.positive("passes"),
                             .source = fields.text("source")});
  }
  return shapes;
}

std::vector<Link> links() {
  const Json document = parse_strict(embedded::links, kLinksFile, "natten-sim.links/1");
  const StrictObject reader(document, kLinksFile);
  const StrictObject reached = reader.object("reached", {"low", "high", "source"});
  std::vector<Link> links;
  for (const Json& entry : reader.array("links")) {
    const StrictObject fields(entry, kLinksFile, {"device", "bytes_per_s", "source"});
    links.push_back({.device = fields.text("device"),
                     .bytes_per_s = fields.number("bytes_per_s"),
                     .least_share = reached.number("low"),
                     .most_share = reached.number("high"),
                     .source = fields.text("source")});
  }
  return links;
}

}  // namespace natten_sim
