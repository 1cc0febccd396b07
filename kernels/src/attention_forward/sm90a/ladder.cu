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

constexpr KernelShape changed(KernelShape shape, Rescale rescale, bool joined, int polynomial, int early) {
  shape.rescale = rescale;
  shape.joined = joined;
  shape.polynomial = polynomial;
  shape.early = early;
  return shape;
}

constexpr KernelShape tiles(int head_dim, int q_tile, int kv_tile, int stages, int q_stages, int early) {
  KernelShape shape;
  shape.head_dim = head_dim;
  shape.q_tile = q_tile;
  shape.kv_tile = kv_tile;
  shape.stages = shape.v_stages = stages;
  shape.q_stages = q_stages;
  shape.early = early;
  shape.joined = q_stages > 1;
  return shape;
}

constexpr KernelShape staged(KernelShape shape, int stages, int v_stages, Rescale rescale, int early) {
  shape.stages = stages;
  shape.v_stages = v_stages;
  shape.rescale = rescale;
  shape.joined = true;
  shape.early = early;
  return shape;
}

constexpr KernelShape k128 = best_shape(128, Dtype::kBf16, false);
constexpr KernelShape k64 = best_shape(64, Dtype::kBf16, false);
constexpr KernelShape kBox = best_shape(128, Dtype::kBf16, true);

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
      instance<changed(k128, Rescale::kRisen, false, 0, 1)>(),
      instance<changed(k128, Rescale::kFar, false, 0, 1)>(),
      instance<staged(k128, 2, 3, Rescale::kFar, 1)>(),
      instance<staged(k128, 3, 2, Rescale::kFar, 1)>(),
      instance<staged(k128, 2, 2, Rescale::kOnOverflow, 1)>(),
      instance<staged(k128, 2, 3, Rescale::kOnOverflow, 0)>(),
      instance<staged(k128, 2, 3, Rescale::kOnOverflow, 1)>(),
      instance<staged(k128, 2, 3, Rescale::kOnOverflow, 2)>(),
      instance<staged(k128, 3, 2, Rescale::kOnOverflow, 1)>(),
      instance<staged(tiles(128, 192, 80, 2, 2, 0), 3, 3, Rescale::kFar, 0)>(),
      instance<staged(tiles(128, 192, 80, 2, 2, 0), 2, 2, Rescale::kOnOverflow, 0)>(),
      instance<staged(tiles(128, 192, 80, 2, 2, 0), 3, 3, Rescale::kOnOverflow, 0)>(),
      instance<staged(tiles(128, 192, 80, 2, 2, 0), 3, 3, Rescale::kOnOverflow, 1)>(),
      instance<tiles(128, 128, 176, 2, 1, 1)>(),
      instance<tiles(128, 192, 80, 2, 2, 0)>(),
      instance<changed(k64, Rescale::kRisen, false, 0, 0)>(),
      instance<staged(k64, 3, 3, Rescale::kOnOverflow, 0)>(),
      instance<staged(k64, 3, 3, Rescale::kOnOverflow, 1)>(),
      instance<staged(k64, 3, 3, Rescale::kOnOverflow, 2)>(),
      instance<changed(kBox, Rescale::kFar, false, 0, 1)>(),
      instance<staged(kBox, 2, 3, Rescale::kFar, 1)>(),
      instance<staged(kBox, 2, 3, Rescale::kOnOverflow, 0)>(),
      instance<staged(kBox, 2, 3, Rescale::kOnOverflow, 1)>(),
  };
  return table;
}

}  // namespace natten_sim::kernels::attention_forward
