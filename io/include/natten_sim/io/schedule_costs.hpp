#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim {

/// Adds the costs of one backward kernel in the format of data/schedule-costs/, in front of those that the
/// catalog has. Unknown keys are refused; `where` names the text in errors. @throws MalformedData.
void add_schedule_costs(Catalog& catalog, std::string_view json, const std::string& where);

/// Of shipped costs that no time was predicted with before it was measured: the times that they were fitted to, each
/// predicted from the others (data/left-out-times.json). Empty for all others.
[[nodiscard]] std::vector<JudgedTime> left_out_times(const ScheduleCostSet& costs);

/// As `add_schedule_costs` reads them.
[[nodiscard]] Json to_json(const ScheduleCostSet& costs);

}  // namespace natten_sim
