#pragma once

#include <string>
#include <vector>

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

/// What else adds the same rows: a remedy that is another row of the lowering table.
struct OtherLowering {
  const char* remedy;
  RemedyEffort effort;
  const Lowering* lowering;
};

/// Those that the table has for the architecture and type of `as_is`, without those that add more elements at
/// once than divide `width`:
/// - index-add: the framework's other operator, instead of torch-scatter-add;
/// - relaxed-ordering: the same atomic with relaxed ordering, instead of triton-atomic-acq-rel. Elsewhere the
///   order changes no instruction: a relaxed scalar addition of 16 bits is a compare-and-swap loop too;
/// - packed-x2, vector: native packed and vector forms, in a kernel of your own.
[[nodiscard]] std::vector<OtherLowering> other_lowerings(const Lowering& as_is, std::int64_t width);

/// The name of the remedy that a construct is; null if it is none.
[[nodiscard]] const char* remedy_of_construct(const std::string& construct);

/// Fills in the prediction for `cost.load`, and the words if they are wanted.
void predict_cost(const CollisionCount& collisions, const ScatterDetails& details, const ScatterDevice& device,
                  ScatterCost& cost);

}  // namespace natten_sim::study
