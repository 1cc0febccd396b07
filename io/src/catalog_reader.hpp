#pragma once

#include <cstdint>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {

/// Sizes and shapes, as presets and backends have them.
class CatalogReader : public StrictObject {
 public:
  using StrictObject::StrictObject;

  [[nodiscard]] std::int64_t positive(const char* key) const { return integer(key, {1, kMaxAxisLength}); }
  [[nodiscard]] std::int64_t count(const char* key) const { return integer(key, {0, kMaxAxisLength}); }
  [[nodiscard]] Extents extents(const char* key) const { return extents_in(array(key), key); }
  [[nodiscard]] Extents extents_in(const Json& values, const char* key) const {
    if (!values.is_array() || values.empty() || values.size() > kMaxRank)
      fail(key, "an array of 1 to 4 sizes");
    Extents extents;
    for (const Json& value : values) extents.push_back(integer_in(value, key, {1, kMaxAxisLength}));
    return extents;
  }
};

}  // namespace natten_sim
