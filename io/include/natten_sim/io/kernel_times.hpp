#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim {

/// Adds calibrated kernel times in the format of data/kernel-times.json, in front of those that the catalog
/// has, so that they are found first; priors, if the text has any, replace the catalog's. Unknown keys are
/// refused. `where` names the text in errors. @throws MalformedData.
void add_kernel_times(Catalog& catalog, std::string_view json, const std::string& where);

/// One entry, and a file of entries, as `add_kernel_times` reads them.
[[nodiscard]] Json to_json(const KernelCosts& costs);
[[nodiscard]] Json kernel_times_file(const std::vector<KernelCosts>& entries);

}  // namespace natten_sim
