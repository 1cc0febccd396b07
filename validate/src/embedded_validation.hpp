#pragma once

#include <string_view>

namespace natten_sim::validate::embedded {

/// data/validation.json, compiled in.
extern const std::string_view validation;

/// data/recordings/nvidia-h200-pace.json, compiled in.
extern const std::string_view pace;

}  // namespace natten_sim::validate::embedded
