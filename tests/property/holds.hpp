#pragma once

#include <functional>
#include <iostream>
#include <string>

#include <rapidcheck.h>

#include "random.hpp"

namespace natten_sim::test {

/// Whether a property holds for so many random cases (random.hpp). Says on stderr how many passed, or the
/// smallest case that does not. `rc::check` takes its number of cases once a process; this takes it a property,
/// and compiles the library's templates once instead of once a property.
[[nodiscard]] inline bool holds(const std::string& claim, int stored_cases,
                                const std::function<void()>& property) {
  rc::detail::TestParams parameters;
  parameters.seed = stored_seed();
  parameters.maxSuccess = cases(stored_cases);
  std::cerr << "- " << claim << ", NATTEN_SIM_SEED=" << parameters.seed << "\n";
  const rc::detail::TestResult result =
      rc::detail::checkTestable(property, rc::detail::TestMetadata{claim, claim}, parameters);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << "\n";
  return result.is<rc::detail::SuccessResult>();
}

/// lo .. hi, all equally likely from the first case of a property on.
inline std::int64_t pick(std::int64_t lo, std::int64_t hi) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(lo, hi + 1));
}

}  // namespace natten_sim::test
