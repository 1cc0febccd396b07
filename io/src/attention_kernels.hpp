#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {

/// Appends the published attention kernels of `json` (data/attention-kernels.json). `where` is its name for
/// messages. @throws MalformedData
void add_kernels(Catalog& catalog, std::string_view json, const std::string& where);

}  // namespace natten_sim
