#include <algorithm>

#include <natten_sim/io/judged_launches.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMostJudged = 1'000'000;

JudgedLaunches read_judged(const StrictObject& cell) {
  JudgedLaunches judged{cell.integer("points", {9, kMostJudged}), cell.number("error"), cell.number("inside")};
  if (!(judged.error >= 0)) cell.fail("error", "a fraction, 0 or more");
  if (!(judged.inside >= 0 && judged.inside <= 1)) cell.fail("inside", "a share, 0 to 1");
  return judged;
}

void judge(CostEvidence& evidence, const JudgedLaunches& judged) {
  if (evidence.origin != CostOrigin::kMeasured) return;
  evidence.judged = judged;
  evidence.interval = std::max(evidence.interval, judged.error);
}

}  // namespace

void add_judged_launches(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.judged-launches/1");
  for (const Json& entry : StrictObject(document, where, {"schema", "cells"}).array("cells")) {
    const StrictObject cell(entry, where, {"kernel", "device", "head_dim", "pass", "points", "error", "inside"});
    const std::string kernel = cell.text("kernel"), device = cell.text("device"), pass = cell.text("pass");
    const std::int64_t head_dim = cell.integer("head_dim");
    if (pass != "forward" && pass != "backward") cell.fail("pass", "forward, backward");
    const JudgedLaunches judged = read_judged(cell);
    for (KernelCosts& costs : catalog.kernel_costs) {
      if (costs.kernel != kernel || costs.device != device || costs.head_dim != head_dim) continue;
      for (PassCosts& costs_of_pass : costs.passes) {
        if ((costs_of_pass.pass == Walk::kForward) == (pass == "forward")) judge(costs_of_pass.evidence, judged);
      }
    }
  }
}

}  // namespace natten_sim
