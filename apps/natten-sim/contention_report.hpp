#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/lowering.hpp>
#include <natten_sim/models/contention.hpp>
#include <natten_sim/models/remedies.hpp>
#include <natten_sim/sim/collision_count.hpp>

#include "count_json.hpp"

namespace natten_sim::cli {

/// A prediction of atomic updates with all that it rests on; `atomics` and the backward of `msda` share it.
struct ContentionReport {
  CollisionCount collisions;
  ScatterLoad load;
  ContentionProfile profile;
  ContentionPrediction prediction;
  std::vector<Remedy> remedies;  ///< fastest first
  std::string instruction;
};

/// Fills the load's fields that come from the collisions.
void describe_collisions(const CollisionCount& collisions, ScatterLoad& load);

/// Distinct 32-bit words of the destination that are updated.
[[nodiscard]] std::int64_t words_touched(const ContentionReport& report);

/// The result fields of the contract; docs/cli.md has their meaning.
[[nodiscard]] Json contention_fields(const ContentionReport& report);
[[nodiscard]] Json remedies_json(const std::vector<Remedy>& remedies);

/// On how many points the device's constants were fitted, and the errors on the others.
[[nodiscard]] Json calibration_json(const std::string& device);

[[nodiscard]] std::string collision_svg(const CollisionCount& collisions, const std::string& title);
[[nodiscard]] std::string remedies_svg(const std::vector<Remedy>& remedies, const std::string& title);

/// "12.3 us".
[[nodiscard]] std::string time_text(double ns);
[[nodiscard]] std::string bytes_text(double bytes);
/// The remedies as a table, times relative to "as-is".
[[nodiscard]] std::string remedies_text(const std::vector<Remedy>& remedies);

}  // namespace natten_sim::cli
