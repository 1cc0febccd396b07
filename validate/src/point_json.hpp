#pragma once

#include <natten_sim/validate/suite.hpp>

#include "json_reader.hpp"

namespace natten_sim::validate {

[[nodiscard]] Json point_json(const Point& point);
/// Strict. Sizes that no kernel can have are refused here; whether such a kernel is built is found out at
/// launch. @throws MalformedData, InvalidParameter.
[[nodiscard]] Point parse_point(const Json& json, const std::string& where);

}  // namespace natten_sim::validate
