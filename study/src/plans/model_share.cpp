#include <natten_sim/study/model_share.hpp>

#include <algorithm>

#include <natten_sim/io/model_data.hpp>

#include "plan_parts.hpp"

namespace natten_sim::study {
namespace {

/// Of the setting: one that is given or published is sure.
std::optional<PresetShare> share_in(const Setting& setting, const Catalog& catalog) {
  if (setting.attention_share) {
    const double share = *setting.attention_share;
    return PresetShare{{share, share, share}, RestBasis::kShare};
  }
  if (!setting.preset) return std::nullopt;
  Preset preset = catalog.preset(*setting.preset);
  preset.layout = setting.input;
  preset.heads = setting.heads.value();
  preset.head_dim = setting.head_dim.value();
  return attention_share_of(preset, model_shapes());
}

/// The part of the steps that has dense attention.
double dense_part(const Setting& setting, const Catalog& catalog) {
  StepRatio steps = setting.dense_steps.value_or(StepRatio{});
  if (!setting.dense_steps && setting.preset) {
    const Preset& preset = catalog.preset(*setting.preset);
    steps = {preset.dense_steps.value_or(0), preset.steps.value_or(1)};
  }
  return static_cast<double>(steps.part) / static_cast<double>(steps.whole);
}

}  // namespace

const ModelShape* shape_of(const std::string& preset, const ModelShapes& shapes) {
  const auto shape = std::find_if(shapes.models.begin(), shapes.models.end(),
                                  [&](const ModelShape& each) { return each.preset == preset; });
  return shape != shapes.models.end() ? &*shape : nullptr;
}

std::optional<PresetShare> attention_share_of(const Preset& preset, const ModelShapes& shapes) {
  if (preset.attention_share) {
    const double share = *preset.attention_share;
    return PresetShare{{share, share, share}, RestBasis::kShare};
  }
  const ModelShape* const shape = shape_of(preset.name, shapes);
  if (shape == nullptr) return std::nullopt;
  double tokens = 1;
  for (const std::int64_t size : preset.layout) tokens *= static_cast<double>(size);
  const double channels = static_cast<double>(preset.heads * preset.head_dim);
  // A layer's 2 x tokens x weights over its 4 x tokens^2 x channels: QK^T and PV.
  const double rest_flops = static_cast<double>(shape->layer_weights) / (2 * tokens * channels);
  const auto share = [&](double cost) { return 1 / (1 + rest_flops * cost); };
  const Bounded& cost = shapes.rest_cost;
  return PresetShare{{share(cost.value), share(cost.high), share(cost.low)}, RestBasis::kFlops};
}

std::optional<EndToEndGain> end_to_end_gain(const Setting& setting, const AttentionTimes& times, const Catalog& catalog) {
  const std::optional<PresetShare> known = share_in(setting, catalog);
  if (!known || !(known->share.low > 0)) return std::nullopt;
  const bool trains = times.dense_backward_ms > 0;
  const double dense_ms = times.dense_forward_ms + times.dense_backward_ms;
  const double stays_dense = trains ? 0 : dense_part(setting, catalog);
  const auto gain = [&](double share, double sparse_ms) {
    const double rest_ms = times.dense_forward_ms * (1 / share - 1) * (trains ? kTrainingRest : 1);
    const double after_ms = stays_dense * dense_ms + (1 - stays_dense) * sparse_ms;
    return (dense_ms + rest_ms) / (after_ms + rest_ms);
  };
  const Bounded& share = known->share;
  const Bounded& sparse = times.sparse_ms;
  // A larger share gains more of a speedup and loses more of a slowdown: both ends are tried.
  const auto [least, most] = std::minmax({gain(share.low, sparse.high), gain(share.high, sparse.high),
                                          gain(share.low, sparse.low), gain(share.high, sparse.low)});
  return EndToEndGain{{gain(share.value, sparse.value), least, most}, trains || known->basis != RestBasis::kShare};
}

}  // namespace natten_sim::study
