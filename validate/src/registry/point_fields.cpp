#include "registry/point_fields.hpp"

#include <charconv>
#include <string>

#include <natten_sim/io/json.hpp>

namespace natten_sim::validate {

Extents read_extents(const StrictObject& fields, const char* key) {
  if (fields.at(key).is_number()) return {fields.integer(key)};
  const std::string text = fields.text(key);
  Extents extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t size = 0;
    const auto [after, error] = std::from_chars(at, end, size);
    if (error != std::errc() || extents.rank() == kMaxRank || (after != end && *after != 'x'))
      fields.fail(key, "sizes of one to four axes, as 16x8");
    extents.push_back(size);
    if (after == end) return extents;
    at = after + 1;
  }
}

PerAxis<bool> read_causal(const StrictObject& fields, std::size_t rank) {
  PerAxis<bool> causal;
  const Extents given = fields.has("causal") ? read_extents(fields, "causal") : Extents{};
  for (std::size_t axis = 0; axis < rank; ++axis) causal.push_back(false);
  if (given.rank() == 0) return causal;
  if (given.rank() != rank) fields.fail("causal", "0 or 1 an axis, as 1x0");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (given[axis] != 0 && given[axis] != 1) fields.fail("causal", "0 or 1 an axis, as 1x0");
    causal[axis] = given[axis] == 1;
  }
  return causal;
}

Extents ones(std::size_t rank) {
  Extents extents;
  for (std::size_t axis = 0; axis < rank; ++axis) extents.push_back(1);
  return extents;
}

}  // namespace natten_sim::validate
