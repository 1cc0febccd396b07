#include "scatter/scatter_device.hpp"

#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/lowering_data.hpp>

namespace natten_sim::study {

ScatterDevice scatter_device(const std::string& name, const Context& context) {
  const Device& device = context.catalog.device(name);
  const std::vector<std::string> missing = missing_for_contention(device);
  if (!missing.empty()) {
    const std::vector<std::string> others = scatter_devices(context);
    throw InvalidParameter("device", "'" + name + "'",
                           "one of " + joined(others) + ", or a device with " + joined(missing));
  }
  const PreReductionCosts measured = measured_pre_reduction();
  return {&device, contention_profile(device),
          scaled_costs(measured, context.catalog.device(measured.device), device)};
}

std::vector<std::string> scatter_devices(const Context& context) {
  std::vector<std::string> names;
  for (const Device& device : context.catalog.devices) {
    if (missing_for_contention(device).empty()) names.push_back(device.name);
  }
  return names;
}

std::vector<std::string> scatter_constructs() { return construct_names(builtin_lowerings()); }

void describe_collisions(const CollisionCount& collisions, ScatterLoad& load) {
  load.updates = collisions.updates;
  load.rows_touched = collisions.rows_touched;
  load.max_multiplicity = collisions.max_multiplicity;
  load.serial_multiplicity = collisions.serial_multiplicity;
  load.hottest_rows = std::max<std::int64_t>(collisions.hottest_rows, 1);
  load.close_updates = collisions.close_updates;
  if (collisions.updates == 0) return;
  const std::int64_t row_bytes = load.width * element_bytes(load.type);
  load.slice_sectors = static_cast<double>(slice_sectors(collisions, row_bytes));
}

void predict_cost(const CollisionCount& collisions, std::int64_t rows, const ScatterDetails& details,
                  const std::vector<Lowering>& table, const ScatterDevice& device, ScatterCost& cost) {
  const ScatterLoad& load = cost.load;
  cost.prediction = predict_contention(load, device.profile);
  if (details.remedies)
    cost.remedies = compare_remedies(load, rows, device.profile, table, device.device->architecture,
                                     device.pre_reduction);
  if (details.addresses) cost.words = touched_units(collisions, load.width * element_bytes(load.type), 4);
}

}  // namespace natten_sim::study
