#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// Adds how costs fared on launches that they were not fitted to, in the format of data/judged-launches.json, to the
/// catalog's measured costs, and widens their intervals to the error of those. Cells that the catalog has no measured
/// costs of are passed over. `where` names the text in errors. @throws MalformedData.
void add_judged_launches(Catalog& catalog, std::string_view json, const std::string& where);

}  // namespace natten_sim
