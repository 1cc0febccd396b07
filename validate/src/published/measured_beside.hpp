#pragma once

#include <string>
#include <vector>

#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

/// Puts the measurements of data/measured-beside.json beside the rows of `work` that they belong to, by
/// figure and item. A measurement for no row becomes one, after the last row of its figure.
void add_measured_beside(const std::string& work, std::vector<PublishedRow>& rows);

}  // namespace natten_sim::validate
