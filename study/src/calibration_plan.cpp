#include <utility>
#include <variant>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/prior_fit.hpp>
#include <natten_sim/study/calibration_plan.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "suggested_runs.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {

CalibrateAnswer plan_calibration(const CalibrationPlanQuestion& question, const Context& context) {
  const Device& device = context.catalog.device(question.device);
  const std::string kernel = timed_kernel(question.kernel, device).name;
  CalibrateAnswer plan;
  std::string reason;
  for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
    const CostCell cell{kernel, device.name, question.head_dim, question.dtype, pass, std::nullopt, std::nullopt};
    auto found = costs_of_cell(cell, context.catalog);
    if (const auto* none = std::get_if<NoCosts>(&found)) {
      if (reason.empty()) reason = none->reason;
      continue;
    }
    CalibratedPass planned{.kernel = kernel, .device = device.name, .head_dim = question.head_dim};
    planned.costs = std::get<KernelCosts>(found).passes.front();
    KernelRun like{.kernel = kernel, .device = device.name, .pass = pass};
    like.q_tile = {planned.costs.q_tile_tokens};
    like.kv_tile = {planned.costs.kv_tile_tokens};
    like.head_dim = question.head_dim;
    like.dtype = question.dtype;
    const std::vector<CostPrior> priors = context.catalog.cost_priors.of(pass, kernel, question.head_dim);
    planned.suggestions = suggest(like, {}, prior_fit(planned.costs, priors), priors, question.runs, context);
    plan.passes.push_back(std::move(planned));
  }
  if (plan.passes.empty()) throw InvalidParameter("kernel", kernel, "a kernel with times there: " + reason);
  return plan;
}

}  // namespace natten_sim::study
