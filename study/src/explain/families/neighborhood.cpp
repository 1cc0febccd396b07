#include "../family.hpp"
#include "../kernel_name.hpp"

namespace natten_sim::study {
namespace {

using P = ExplainedProblem;

/// Product of tuple<4,8,8>, or the number itself.
std::optional<std::int64_t> volume_of(const std::string& shape) {
  if (const auto one = number_of(shape)) return one;
  const std::vector<std::string> axes = template_arguments(shape, "tuple");
  std::int64_t volume = axes.empty() ? 0 : 1;
  for (const std::string& axis : axes) {
    const auto length = number_of(axis);
    if (!length || *length < 1 || *length > 4096) return std::nullopt;
    volume *= *length;
  }
  return volume > 0 ? std::optional(volume) : std::nullopt;
}

constexpr const char* kWindow =
    "a neighborhood window, which neither name nor grid tells: ask reuse with its "
    "layout, window and stride";

}  // namespace

/// FnaMainloopTmaWarpSpecializedSm90<rank, Q tile shape, KV tile shape, type, ..>, persistent or not.
std::optional<Recognised> recognise_hopper_fna(const ProfiledKernel&, std::string_view plain) {
  std::vector<std::string> loop = template_arguments(plain, "FnaMainloopTmaWarpSpecializedSm90");
  if (loop.empty()) loop = template_arguments(plain, "FnaMainloopTmaSm90");
  if (loop.size() < 4) return std::nullopt;
  const auto q_tile = volume_of(loop[1]), kv_tile = volume_of(loop[2]);
  if (!q_tile || !kv_tile) return std::nullopt;
  Recognised found;
  tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
  tell(found, &P::dtype, dtype_in(loop[3]), "dtype", KnownFrom::kName);
  const bool persistent = plain.find("PersistentTileScheduler") != std::string_view::npos;
  tell_walk(found, persistent ? CtaSchedule::kPersistent : CtaSchedule::kGrid, KvOrder::kCyclic);
  found.unmodelled = kWindow;
  return found;
}

/// fna3d_64x64x128_sm80_bfloat16_cm_0_0_0: axes, Q tile x KV tile x largest head dim, which axes are causal.
std::optional<Recognised> recognise_cutlass_fna(const ProfiledKernel&, std::string_view plain) {
  const std::size_t at = plain.find("::fna::fna");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view name = plain.substr(at + 7);
  const std::vector<std::int64_t> shape = shape_in(name, 3);
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1) return std::nullopt;
  Recognised found;
  tell_tiles(found, shape[0], shape[1], KnownFrom::kName);
  found.head_dim_upto = shape[2];
  tell(found, &P::dtype, dtype_in(name), "dtype", KnownFrom::kName);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  found.unmodelled = kWindow;
  return found;
}

/// attention_kernel<type, head dim, Q tile, KV tile, warps, stages, CTAs>.
std::optional<Recognised> recognise_ours(const ProfiledKernel&, std::string_view plain) {
  const std::vector<std::string> arguments = template_arguments(plain, "attention_kernel");
  if (arguments.size() != 7) return std::nullopt;
  const auto dim = number_of(arguments[1]), q_tile = number_of(arguments[2]),
             kv_tile = number_of(arguments[3]);
  if (!dim || !q_tile || !kv_tile || *q_tile < 1 || *kv_tile < 1) return std::nullopt;
  Recognised found;
  tell(found, &P::head_dim, *dim, "dim", KnownFrom::kName);
  tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
  tell(found, &P::dtype, dtype_in(arguments[0]), "dtype", KnownFrom::kName);
  return found;
}

std::optional<Recognised> recognise_ours_forward(const ProfiledKernel&, std::string_view plain) {
  if (plain.find("attention_forward_kernel") == std::string_view::npos) return std::nullopt;
  return Recognised{};
}

}  // namespace natten_sim::study
