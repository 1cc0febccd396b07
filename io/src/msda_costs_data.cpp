#include <utility>

#include <natten_sim/io/strict_object.hpp>

#include "device_atomics.hpp"
#include "embedded_data.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;

constexpr NumberField<MsdaCosts> kCostNumbers[] = {{"launch_ns", &MsdaCosts::launch_ns},
                                                   {"further_launch_ns", &MsdaCosts::further_launch_ns},
                                                   {"load_chain_ns", &MsdaCosts::load_chain_ns},
                                                   {"instruction_chain_ns", &MsdaCosts::instruction_chain_ns},
                                                   {"far_ns", &MsdaCosts::far_ns},
                                                   {"instruction_ns", &MsdaCosts::instruction_ns},
                                                   {"line_ns", &MsdaCosts::line_ns},
                                                   {"store_line_ns", &MsdaCosts::store_line_ns},
                                                   {"reduction_ns", &MsdaCosts::reduction_ns},
                                                   {"sector_ns", &MsdaCosts::sector_ns},
                                                   {"atom_ns", &MsdaCosts::atom_ns},
                                                   {"cas_ns", &MsdaCosts::cas_ns},
                                                   {"scalar_ns", &MsdaCosts::scalar_ns},
                                                   {"atom_chain_ns", &MsdaCosts::atom_chain_ns},
                                                   {"cas_chain_ns", &MsdaCosts::cas_chain_ns},
                                                   {"scalar_chain_ns", &MsdaCosts::scalar_chain_ns},
                                                   {"resident_bytes", &MsdaCosts::resident_bytes},
                                                   {"overlap", &MsdaCosts::overlap}};

MsdaVariant read_variant(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"phase", "tiling", "update", "half", "instructions", "ctas_per_sm"});
  MsdaVariant variant;
  variant.phase = parse_name<MsdaPhase>(fields.text("phase"));
  variant.tiling = parse_name<MsdaTiling>(fields.text("tiling"));
  if (variant.phase == MsdaPhase::kBackward) variant.update = parse_name<MsdaUpdate>(fields.text("update"));
  variant.half = fields.boolean("half");
  variant.instructions = fields.number("instructions");
  variant.ctas_per_sm = fields.integer("ctas_per_sm");
  return variant;
}

MsdaCostError read_error(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where, {"phase", "tiling", "unfitted_points", "unfitted_worst_ratio", "unfitted_mean_ratio"});
  return {parse_name<MsdaPhase>(fields.text("phase")), parse_name<MsdaTiling>(fields.text("tiling")),
          fields.integer("unfitted_points"), fields.number("unfitted_worst_ratio"),
          fields.number("unfitted_mean_ratio")};
}

}  // namespace

MsdaCosts read_msda_costs(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"device", "source", "held_out", "constants", "variants", "errors"});
  MsdaCosts costs;
  if (fields.text("source").empty()) fields.fail("source", "where the numbers come from");
  costs.held_out = fields.text("held_out");
  fields.object("constants", keys_of(kCostNumbers)).numbers(kCostNumbers, costs);
  for (const Json& variant : fields.array("variants")) costs.variants.push_back(read_variant(variant, where));
  for (const Json& error : fields.array("errors")) costs.errors.push_back(read_error(error, where));
  return costs;
}

void join_msda_costs(Catalog& catalog) {
  const std::string where = "data/msda-costs.json";
  const Json document = parse_strict(embedded::msda_costs, where, "natten-sim.msda-costs/1");
  for (const Json& entry : StrictObject(document, where, {"schema", "costs"}).array("costs")) {
    const std::string name = StrictObject(entry, where).text("device");
    device_to_join(catalog, name, where).msda_costs = read_msda_costs(entry, where);
  }
}

}  // namespace natten_sim
