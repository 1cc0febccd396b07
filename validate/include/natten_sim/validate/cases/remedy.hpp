#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// A scatter-add of this project by one of its paths, predicted by the remedies of study::scatter. Launches
/// accumulate into one destination.
struct RemedyCase final : Case {
  kernels::scatter_add::Path path = kernels::scatter_add::Path::kScalar;
  Dtype dtype = Dtype::kBf16;
  std::int64_t width = 256, updates = 65536, rows = 32768;
  IndexDistribution distribution = UniformRows{};

  /// "remedy red-16 bf16 65536 x256 into 32768 zipf:1.5"
  [[nodiscard]] std::string key() const override;
  /// "remedy red-16 half contended"
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// None for paths that are no remedy. O(updates + rows).
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  /// With small integers and with random values.
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;

  [[nodiscard]] kernels::scatter_add::Problem problem() const;
};

}  // namespace natten_sim::validate
