#pragma once

#include <span>
#include <string>
#include <string_view>

namespace natten_sim {

/// The name in `names` with the smallest edit distance (insert, delete, replace, swap neighbours) to `name`,
/// case and leading dashes ignored. Empty if that distance is above a third of its length and above one, or a
/// number of `name` is not in it, unless `name` begins it or is nearly what stands before the first dash of one.
/// Ties go to the first.
[[nodiscard]] std::string closest_name(std::string_view name, std::span<const std::string> names);

}  // namespace natten_sim
