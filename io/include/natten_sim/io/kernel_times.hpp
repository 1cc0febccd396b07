#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// Adds calibrated kernel times in the format of data/kernel-times.json, in front of those that the catalog
/// has, so that they are found first; priors, if the text has any, replace the catalog's. Unknown keys are
/// refused. `where` names the text in errors. @throws MalformedData.
void add_kernel_times(Catalog& catalog, std::string_view json, const std::string& where);

}  // namespace natten_sim
