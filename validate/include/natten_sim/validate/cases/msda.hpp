#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/kernels/msda/msda.hpp>
#include <natten_sim/sim/msda/msda.hpp>
#include <natten_sim/study/msda.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// One pass of this project's multi-scale deformable attention, predicted by study::msda.
struct MsdaCase final : Case {
  MsdaConfig config;
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  Dtype dtype = Dtype::kBf16;
  Dtype parameters_dtype = Dtype::kFp32;  ///< of locations and weights: fp32 or `dtype`
  kernels::scatter_add::Path path = kernels::scatter_add::Path::kRed16;  ///< of a backward pass
  QueryOrder order = QueryOrder::kLinear;
  MsdaSampling sampling;
  bool fitted = false;  ///< constants of the model rest on this point

  /// "msda B4_800x1333_d256_L4 backward block bf16 red-16 linear"
  [[nodiscard]] std::string key() const override;
  /// "msda backward block encoder half red-16": orders and configurations are judged together.
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// O(samples) for the first point of a configuration and order, which are kept.
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  /// Both passes, with small integers and with random values.
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;

  [[nodiscard]] kernels::msda::Problem problem() const;
  [[nodiscard]] study::MsdaQuestion question(const std::string& device) const;
};

}  // namespace natten_sim::validate
