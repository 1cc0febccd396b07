#pragma once

#include <string_view>
#include <vector>

#include <natten_sim/validate/cases/registry.hpp>

namespace natten_sim::validate::embedded {

/// Every file of data/suites, compiled in.
[[nodiscard]] std::vector<SuiteText> suites();

/// Every file of data/claims.
[[nodiscard]] std::vector<SuiteText> claims();

/// Every recording of data/recordings that is of paces, and of costs of neighborhood attention.
[[nodiscard]] std::vector<SuiteText> paces();
[[nodiscard]] std::vector<SuiteText> gna_costs();
/// Every file of data/judged.
[[nodiscard]] std::vector<SuiteText> judged_answers();
/// The one of the suite `stream` on the H200, which profiles of other GPUs are made by.
[[nodiscard]] std::vector<SuiteText> reference_stream();

}  // namespace natten_sim::validate::embedded
