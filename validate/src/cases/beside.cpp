#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>

namespace natten_sim::validate::cases {

/// This project's kernel and FlexAttention, timed in turns by one process: "runs" names the kernel.
CaseKind beside();
CaseKind beside() {
  std::vector<std::string> parameters = timed_run_parameters();
  parameters.emplace_back("runs");
  return {"beside", parameters, [](const StrictObject& fields) {
            TimedRunCase point;
            point.family = "beside";
            point.run = read_timed_run(fields, fields.text("runs"));
            point.runs_by = "scripts/timing";
            return Point(point);
          }};
}

}  // namespace natten_sim::validate::cases
