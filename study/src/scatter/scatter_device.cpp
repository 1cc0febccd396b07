#include "scatter/scatter_device.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

std::vector<OtherLowering> other_lowerings(const Lowering& as_is, std::int64_t width) {
  std::vector<OtherLowering> others;
  const auto add = [&](const char* remedy, RemedyEffort effort, std::string_view construct) {
    for (const Lowering& row : builtin_lowerings()) {
      if (row.construct == construct && row.architecture == as_is.architecture && row.type == as_is.type &&
          width % row.vector_width == 0)
        others.push_back({remedy, effort, &row});
    }
  };
  if (as_is.construct == "torch-scatter-add" && as_is.issue == IssueCost::kOperator)
    add("index-add", RemedyEffort::kOperator, "torch-index-add");
  if (as_is.construct == "triton-atomic-acq-rel")
    add("relaxed-ordering", RemedyEffort::kArgument, "triton-atomic-relaxed");
  const auto own = [&](const char* remedy, std::string_view construct) {
    if (as_is.construct != construct) add(remedy, RemedyEffort::kInstruction, construct);
  };
  own("packed-x2", as_is.type == Dtype::kFp16 ? "ptx-red-relaxed-f16x2" : "cuda-atomicadd-bfloat162");
  own("vector", as_is.type == Dtype::kFp32   ? "ptx-red-relaxed-v4-f32"
                : as_is.type == Dtype::kFp16 ? "ptx-red-relaxed-v8-f16"
                                             : "ptx-red-relaxed-v8-bf16");
  return others;
}

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

void predict_cost(const CollisionCount& collisions, const ScatterDetails& details, const ScatterDevice& device,
                  ScatterCost& cost) {
  const ScatterLoad& load = cost.load;
  cost.prediction = predict_contention(load, device.profile);
  if (details.addresses) cost.words = touched_units(collisions, load.width * element_bytes(load.type), 4);
}

void add_remedies(std::int64_t rows, const std::vector<OtherConstruct>& others, const ScatterDevice& device,
                  ScatterCost& cost) {
  std::vector<Remedy> remedies =
      compare_remedies(cost.load, rows, device.profile, others, device.pre_reduction);
  const std::map<std::string, BlindScore>& scores = remedy_scores();
  for (Remedy& remedy : remedies) {
    if (remedy.name == kAsIs) remedy.interval = cost.interval;
    const auto score = scores.find(remedy.name);
    if (score == scores.end()) continue;
    remedy.blind = score->second;
    const double ratio = score->second.interval_ratio;
    remedy.interval = TimeInterval{remedy.time_ns / ratio, remedy.time_ns * ratio};
  }
  cost.remedies = std::move(remedies);
}

}  // namespace natten_sim::study
