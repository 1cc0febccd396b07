// Steps of the version ladder (docs/kernels.md) that the engine can still be built as: bf16, head dimension 128, and
// the choices at head dimension 64 and for neighborhoods.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {
namespace {

/// Before softmax ran beside P V, and before anything else that a shape can choose.
constexpr KernelShape serial(int q_tile, bool ping_pong) {
  KernelShape shape;
  shape.q_tile = q_tile;
  shape.q_stages = 1;
  shape.overlap = false;
  shape.ping_pong = ping_pong;
  shape.rescale = Rescale::kAlways;
  shape.early = 0;
  shape.joined = false;
  return shape;
}

constexpr KernelShape with_turns(int q_stages, Rescale rescale, int early) {
  KernelShape shape = serial(128, true);
  shape.overlap = true;
  shape.q_stages = q_stages;
  shape.rescale = rescale;
  shape.early = early;
  return shape;
}

constexpr KernelShape tiles(int q_tile, int kv_tile, int q_stages, int early) {
  KernelShape shape;
  shape.q_tile = q_tile;
  shape.kv_tile = kv_tile;
  shape.q_stages = q_stages;
  shape.early = early;
  return shape;
}

constexpr KernelShape joined(KernelShape shape, int stages, int v_stages, Rescale rescale) {
  shape.joined = true;
  shape.stages = stages;
  shape.v_stages = v_stages;
  shape.rescale = rescale;
  return shape;
}

constexpr KernelShape rescaled(KernelShape shape, Rescale rescale) {
  shape.rescale = rescale;
  return shape;
}

constexpr KernelShape selecting_with_two_stages() {
  KernelShape shape = long_shape(128, Dtype::kBf16, true);
  shape.v_stages = 2;
  return shape;
}

constexpr KernelShape k128 = short_shape(128, Dtype::kBf16, false);

}  // namespace

std::span<const Instance> ladder_steps() {
  static const std::vector<Instance> table = {
      instance<serial(64, false)>(),
      instance<serial(128, false)>(),
      instance<serial(128, true)>(),
      instance<with_turns(1, Rescale::kAlways, 0)>(),
      instance<with_turns(2, Rescale::kAlways, 0)>(),
      instance<with_turns(2, Rescale::kRisen, 0)>(),
      instance<with_turns(2, Rescale::kRisen, 1)>(),
      instance<rescaled(k128, Rescale::kRisen)>(),
      instance<joined(k128, 2, 2, Rescale::kFar)>(),
      instance<joined(k128, 2, 3, Rescale::kFar)>(),
      instance<joined(k128, 3, 2, Rescale::kOnOverflow)>(),
      instance<joined(k128, 2, 3, Rescale::kOnOverflow)>(),
      instance<tiles(128, 176, 1, 1)>(),
      instance<selecting_with_two_stages()>(),
      instance<joined(tiles(192, 80, 2, 0), 3, 3, Rescale::kOnOverflow)>(),
  };
  return table;
}

}  // namespace natten_sim::kernels::attention_forward
