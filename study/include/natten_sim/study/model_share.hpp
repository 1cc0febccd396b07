#pragma once

#include <optional>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/model_shape.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// What the time of everything but attention rests on.
enum class RestBasis { kShare, kFlops, kUnknown };

/// A part of the time outside attention, in training over inference: backward multiplies twice what forward does.
inline constexpr double kTrainingRest = 3;

/// Attention's part of the time of a dense pass of a preset, 0..1.
struct PresetShare {
  Bounded share;
  RestBasis basis = RestBasis::kShare;  ///< kShare: published, so that all three are equal; or kFlops
};

/// Published, or as plan() takes it: FLOPs of dense attention against those of everything else, which take
/// ModelShapes::rest_cost times as long. None: a preset without a share and without a shape, as a file may have.
[[nodiscard]] std::optional<PresetShare> attention_share_of(const Preset& preset, const ModelShapes& shapes);

/// What attention takes in a step of a model, in milliseconds of one layer's call.
struct AttentionTimes {
  double dense_forward_ms = 0;
  double dense_backward_ms = 0;  ///< 0: inference
  Bounded sparse_ms;             ///< all passes
};

/// What faster attention makes of the whole model, over dense attention.
struct EndToEndGain {
  Bounded speedup;         ///< its bounds are those of attention's share and of the sparse times together
  bool estimated = false;  ///< by FLOPs, or for training, whose other parts take kTrainingRest times their inference
};

/// By the setting's attention share, else by its preset's (attention_share_of, for the setting's layout). Dense steps
/// count in inference. None: no share is known.
[[nodiscard]] std::optional<EndToEndGain> end_to_end_gain(const Setting& setting, const AttentionTimes& times,
                                                          const Catalog& catalog);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::RestBasis> {
  using Basis = study::RestBasis;
  static constexpr const char* kConcept = "rest";
  static constexpr Name<Basis> kTable[] = {
      {Basis::kShare, "attention-share"}, {Basis::kFlops, "flops"}, {Basis::kUnknown, "unknown"}};
};

}  // namespace natten_sim
