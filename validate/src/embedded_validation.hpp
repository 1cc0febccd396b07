#pragma once

#include <string_view>

namespace natten_sim::validate::embedded {

/// data/validation.json, compiled in.
extern const std::string_view validation;

}  // namespace natten_sim::validate::embedded
