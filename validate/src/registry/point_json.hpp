#pragma once

#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>

namespace natten_sim::validate {

using Json = StrictObject::Json;

[[nodiscard]] Json point_json(const Point& point);
/// Strict. @throws MalformedData, InvalidParameter, UnknownName.
[[nodiscard]] Point parse_point(const Json& json, const std::string& where);
/// The same from a file: every error names the place. @throws MalformedData.
[[nodiscard]] Point parse_recorded_point(const Json& json, const std::string& where);

}  // namespace natten_sim::validate
