#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>

namespace natten_sim::validate::cases {

/// PyTorch's FlexAttention with block masks of our tile tables.
CaseKind flex();
CaseKind flex() {
  return {"flex", timed_run_parameters(), [](const StrictObject& fields) {
            TimedRunCase point;
            point.family = "flex";
            point.run = read_timed_run(fields, "flexattention");
            point.runs_by = "scripts/timing";
            return Point(point);
          }};
}

}  // namespace natten_sim::validate::cases
