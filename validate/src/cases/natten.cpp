#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>

namespace natten_sim::validate::cases {

/// Kernels of NATTEN, and the dense ones beside them: "runs" names the kernel.
CaseKind natten();
CaseKind natten() {
  std::vector<std::string> parameters = timed_run_parameters();
  parameters.emplace_back("runs");
  return {"natten", parameters, [](const StrictObject& fields) {
            TimedRunCase point;
            point.family = "natten";
            point.run = read_timed_run(fields, fields.text("runs"));
            point.runs_by = "NATTEN's profiler";
            return Point(point);
          }};
}

}  // namespace natten_sim::validate::cases
