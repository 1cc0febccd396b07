#include "closings/certainty.hpp"

#include <fmt/format.h>

namespace natten_sim::report {

std::string certainty_of(const CostEvidence& evidence) {
  if (evidence.left_out) {
    return fmt::format("times are off by {:.1f}% on average on runs left out of the fit, {:.1f}% at worst",
                       100 * evidence.left_out->mean, 100 * evidence.left_out->worst);
  }
  if (evidence.origin != CostOrigin::kMeasured) {
    return fmt::format("nobody measured the kernel there: times are {}, off by up to {:.0f}% in nine of ten cases",
                       evidence.origin == CostOrigin::kTransferred ? "transferred" : "physical",
                       100 * evidence.interval);
  }
  return fmt::format("times may be off by {:.0f}%: {}", 100 * evidence.interval,
                     evidence.runs == 0 ? "their costs are derived, not measured" : "one run was measured");
}

}  // namespace natten_sim::report
