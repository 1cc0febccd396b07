#pragma once

#include <string>
#include <vector>

#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// A launch of somebody else's kernel that is measured elsewhere and predicted by study::time: its recordings
/// come from a script, and this program cannot run it.
struct TimedRunCase final : ForeignCase {
  std::string family;  ///< "flex", "natten": the kernel of its points
  KernelRun run;       ///< without device and times
  std::string runs_by;  ///< what measures it: "scripts/timing"

  /// "flex forward b1 h24 d128 bf16 256x256 window 80x80 tiles 16x8/16x8"
  [[nodiscard]] std::string key() const override;
  /// "flexattention forward 2-D"
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// With the costs that ship ("tile costs"); a run that these were fitted to also with the costs that the
  /// other runs of its kernel give ("tile costs, without this run"), as far as they ship.
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] std::string measured_by() const override { return runs_by; }
  [[nodiscard]] std::optional<KernelRun> kernel_run() const override { return run; }
};

/// Parameters of such points besides "kernel", and how they are read: what is absent has its usual value.
[[nodiscard]] std::vector<std::string> timed_run_parameters();
[[nodiscard]] KernelRun read_timed_run(const StrictObject& fields, const std::string& kernel);

}  // namespace natten_sim::validate
