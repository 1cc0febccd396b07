#pragma once

#include <vector>

#include <natten_sim/validate/cases/registry.hpp>

namespace natten_sim::validate::embedded {

/// Every file of data/suites, compiled in.
[[nodiscard]] std::vector<SuiteText> suites();

/// Every recording of data/recordings whose name ends in -pace.json, compiled in.
[[nodiscard]] std::vector<SuiteText> paces();

}  // namespace natten_sim::validate::embedded
