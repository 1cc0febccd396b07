#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/search_report.hpp>

namespace natten_sim::report {

std::string nothing_found(const study::SearchAnswer& answer) {
  const std::optional<SparsityRange>& sparsity = answer.question.constraints.sparsity;
  if (answer.nearest_sparsity && sparsity) {
    // Bounds of six digits around it, so that the printed range can be used as an option.
    const double nearest = *answer.nearest_sparsity;
    return fmt::format(
        "no configuration has a sparsity in {}:{}; the nearest feasible sparsity is {}, in --sparsity {}:{}",
        sparsity->lo, sparsity->hi, nearest, std::floor(nearest * 1e6) / 1e6, std::ceil(nearest * 1e6) / 1e6);
  }
  return std::string("no configuration meets the constraints") + (sparsity ? ", whatever the sparsity" : "");
}

}  // namespace natten_sim::report
