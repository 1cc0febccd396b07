#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// A scatter-add of PyTorch that a script measures, predicted by study::scatter: the time of the third of
/// four runs since the destination was zeroed, and the sectors of the first.
struct ScatterCase final : ForeignCase {
  std::string construct = "torch-scatter-add";
  Dtype dtype = Dtype::kBf16;
  std::int64_t width = 256, updates = 65536, rows = 32768;
  IndexDistribution distribution = UniformRows{};
  std::int64_t seed = 0;  ///< of the row numbers
  bool queued = false;    ///< launched behind other work, so that times are without the host's launch
  bool fitted = false;  ///< constants of data/contention.json were fitted to it

  /// "scatter torch-scatter-add bf16 32768 x256 into 32768 zipf:1.5"
  [[nodiscard]] std::string key() const override;
  /// "scatter half contended, predicted". Uniform updates of at most 256 rows are contended too.
  [[nodiscard]] std::string group() const override;
  /// "scatter half contended": answers whose errors are alike.
  [[nodiscard]] std::string regime() const;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// O(updates + rows), since updates are counted.
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] std::string measured_by() const override { return "scripts/timing"; }

  [[nodiscard]] study::ScatterQuestion question(const std::string& device) const;
};

}  // namespace natten_sim::validate
