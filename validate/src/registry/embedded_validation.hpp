#pragma once

#include <string_view>
#include <vector>

#include <natten_sim/validate/cases/registry.hpp>

namespace natten_sim::validate::embedded {

/// Every file of data/suites, compiled in.
[[nodiscard]] std::vector<SuiteText> suites();

/// data/recordings/nvidia-h200-pace.json, compiled in.
extern const std::string_view pace;

}  // namespace natten_sim::validate::embedded
