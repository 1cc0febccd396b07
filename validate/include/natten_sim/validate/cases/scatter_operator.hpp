#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// A scatter by an operator of PyTorch (scatter_add, index_add, embedding) or by a path of this project's
/// scatter-add, all timed in one run on one GPU. PyTorch's are launched behind other work.
struct ScatterOperatorCase final : ForeignCase {
  std::string operation = "scatter_add";
  Dtype dtype = Dtype::kBf16;
  std::int64_t width = 256, updates = 65536, rows = 32768;
  IndexDistribution distribution = UniformRows{};

  /// "scatter-operator index_add bf16 65536 x256 into 32768 zipf:1.5"
  [[nodiscard]] std::string key() const override;
  /// "scatter-operator index_add half"
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// Of scatter_add and of the paths that are remedies; none of the others. O(updates + rows).
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] std::string measured_by() const override { return "scripts/timing"; }

  /// "bf16 x256 zipf:1.5": what all operators share.
  [[nodiscard]] std::string load() const;
};

}  // namespace natten_sim::validate
