#pragma once

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// Attention forward of this project's own kernel, or of another one that walks Q, K and V in the same way.
struct AttentionCase final : Case {
  kernels::AttentionProblem problem;
  kernels::AttentionVariant variant;

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  /// The same kernel on a ragged length of at most 2047 tokens; with kShortAndLong also on 32769 tokens, if
  /// the point has that many.
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;
  void require_built() const override;
  [[nodiscard]] std::optional<double> operations() const override;
  /// A place in curves for points of one head only.
  [[nodiscard]] std::optional<CurvePlace> curve() const override;
  [[nodiscard]] std::optional<Point> cyclic_partner() const override;
  [[nodiscard]] bool has_pace() const override { return true; }
  /// @throws InvalidParameter for a causal mask, whose items differ in length.
  [[nodiscard]] CtaPace pace(Bench& bench) const override;

  /// "128x64x2": Q tile, KV tile, stages.
  [[nodiscard]] std::string tiles_text() const;
};

/// What `reuse` is asked about this launch; the device's name is the caller's to add. @throws InvalidParameter
/// where the profile lacks the SMs or the size of a sector.
[[nodiscard]] study::ReuseQuestion reuse_question(const AttentionCase& point, const Device& device,
                                                  study::ReuseMethod method);

}  // namespace natten_sim::validate
