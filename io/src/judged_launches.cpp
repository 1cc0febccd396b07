#include <algorithm>

#include <natten_sim/io/judged_launches.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMostJudged = 1'000'000;

JudgedLaunches read_judged(const StrictObject& cell, LaunchLength length) {
  JudgedLaunches judged{cell.integer("points", {9, kMostJudged}), cell.number("error"), cell.number("inside"), length};
  if (!(judged.error >= 0)) cell.fail("error", "a fraction, 0 or more");
  if (!(judged.inside >= 0 && judged.inside <= 1)) cell.fail("inside", "a share, 0 to 1");
  return judged;
}

std::vector<JudgedLaunches> read_by_length(const StrictObject& cell) {
  std::vector<JudgedLaunches> judged;
  for (const auto& [key, length] : {std::pair{"short", LaunchLength::kShort}, {"long", LaunchLength::kLong}}) {
    if (cell.has(key)) judged.push_back(read_judged(cell.object(key, {"points", "error", "inside"}), length));
  }
  return judged;
}

void judge(CostEvidence& evidence, const JudgedLaunches& judged, const std::vector<JudgedLaunches>& by_length) {
  if (evidence.origin != CostOrigin::kMeasured) return;
  evidence.judged = judged;
  evidence.judged_by_length = by_length;
  evidence.fit_interval = evidence.interval;
  evidence.interval = std::max(evidence.interval, judged.error);
}

}  // namespace

void add_judged_launches(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.judged-launches/1");
  for (const Json& entry : StrictObject(document, where, {"schema", "cells"}).array("cells")) {
    const StrictObject cell(entry, where, {"kernel", "device", "head_dim", "pass", "points", "error", "inside", "short", "long"});
    const std::string kernel = cell.text("kernel"), device = cell.text("device"), pass = cell.text("pass");
    const std::int64_t head_dim = cell.integer("head_dim");
    if (pass != "forward" && pass != "backward") cell.fail("pass", "forward, backward");
    const JudgedLaunches judged = read_judged(cell, LaunchLength::kAny);
    const std::vector<JudgedLaunches> by_length = read_by_length(cell);
    for (KernelCosts& costs : catalog.kernel_costs) {
      if (costs.kernel != kernel || costs.device != device || costs.head_dim != head_dim) continue;
      for (PassCosts& costs_of_pass : costs.passes) {
        if ((costs_of_pass.pass == Walk::kForward) == (pass == "forward")) judge(costs_of_pass.evidence, judged, by_length);
      }
    }
  }
}

}  // namespace natten_sim
