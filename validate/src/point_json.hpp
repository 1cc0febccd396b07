#pragma once

#include <natten_sim/validate/suite.hpp>

// core's, private to the project's rooms.
#include "strict_object.hpp"

namespace natten_sim::validate {

using Json = StrictObject::Json;

[[nodiscard]] Json point_json(const Point& point);
/// Strict. Sizes that no kernel can have are refused here; whether such a kernel is built is found out at
/// launch. @throws MalformedData, InvalidParameter, UnknownName.
[[nodiscard]] Point parse_point(const Json& json, const std::string& where);
/// The same from a file: every error names the place. @throws MalformedData.
[[nodiscard]] Point parse_recorded_point(const Json& json, const std::string& where);

}  // namespace natten_sim::validate
