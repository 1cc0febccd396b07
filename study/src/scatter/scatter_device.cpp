#include "scatter/scatter_device.hpp"

#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/lowering_data.hpp>

namespace natten_sim::study {
namespace {

/// A construct that is a remedy: of every other one, or instead of one.
struct ConstructRemedy {
  const char* remedy;
  RemedyEffort effort;
  const char* construct;
  const char* instead_of = nullptr;
};

/// The least effort first. A table's rows say which types each has.
constexpr ConstructRemedy kConstructRemedies[] = {
    {"index-add", RemedyEffort::kOperator, "torch-index-add", "torch-scatter-add"},
    {"relaxed-ordering", RemedyEffort::kArgument, "triton-atomic-relaxed", "triton-atomic-acq-rel"},
    {"packed-x2", RemedyEffort::kInstruction, "ptx-red-relaxed-f16x2"},
    {"packed-x2", RemedyEffort::kInstruction, "cuda-atomicadd-bfloat162"},
    {"vector", RemedyEffort::kInstruction, "ptx-red-relaxed-v4-f32"},
    {"vector", RemedyEffort::kInstruction, "ptx-red-relaxed-v8-f16"},
    {"vector", RemedyEffort::kInstruction, "ptx-red-relaxed-v8-bf16"}};

}  // namespace

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
  for (const ConstructRemedy& other : kConstructRemedies) {
    if (as_is.construct == other.construct) continue;
    if (other.instead_of != nullptr && as_is.construct != other.instead_of) continue;
    for (const Lowering& row : builtin_lowerings()) {
      if (row.construct == other.construct && row.architecture == as_is.architecture &&
          row.type == as_is.type && width % row.vector_width == 0)
        others.push_back({other.remedy, other.effort, &row});
    }
  }
  return others;
}

const char* remedy_of_construct(const std::string& construct) {
  for (const ConstructRemedy& other : kConstructRemedies) {
    if (construct == other.construct) return other.remedy;
  }
  return nullptr;
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

}  // namespace natten_sim::study
