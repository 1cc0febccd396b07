#pragma once

#include <string>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/lowering.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::study {

/// What a device needs to be asked about atomics.
struct ScatterDevice {
  const Device* device;  ///< of the context's catalog
  ContentionProfile profile;
  PreReductionCosts pre_reduction;
};

/// @throws UnknownName; InvalidParameter for a device that lacks something. It names what is missing, and the
/// devices that lack nothing.
[[nodiscard]] ScatterDevice scatter_device(const std::string& name, const Context& context);

/// Fills the load's members that come from the collisions.
void describe_collisions(const CollisionCount& collisions, ScatterLoad& load);

/// Fills in the prediction for `cost.load` and the wanted details. `rows` is the number of rows of the
/// destination.
void predict_cost(const CollisionCount& collisions, std::int64_t rows, const ScatterDetails& details,
                  const std::vector<Lowering>& table, const ScatterDevice& device, ScatterCost& cost);

}  // namespace natten_sim::study
