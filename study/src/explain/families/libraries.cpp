#include <algorithm>
#include <array>

#include "../family.hpp"
#include "../kernel_name.hpp"

namespace natten_sim::study {
namespace {

using P = ExplainedProblem;
constexpr std::int64_t kMmaRows = 16;  // of one matrix instruction

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

/// cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_..: rows of a
/// warpgroup x KV tile x head dim. One warpgroup of a CTA loads, the others have a Q tile together. The grid
/// has a CTA for each SM, or for each Q tile if there are fewer.
std::optional<Recognised> recognise_cudnn(const ProfiledKernel& launch, std::string_view plain) {
  if (!contains(plain, "cudnn") || !contains(plain, "sdpa") || !contains(plain, "fprop")) return std::nullopt;
  Recognised found;
  const std::vector<std::int64_t> shape = shape_in(plain, 3);
  constexpr std::int64_t kWarpgroup = 128;
  const std::int64_t consumers = launch.block[0] / kWarpgroup - 1;
  if (shape.size() == 3 && consumers > 0 && shape[0] > 0 && shape[1] > 0 && contains(plain, "wgmma")) {
    tell_tiles(found, shape[0] * consumers, shape[1], KnownFrom::kName);
    tell(found, &P::head_dim, shape[2], "dim", KnownFrom::kName);
  }
  // f16 in these names is the width: bf16 launches have it too.
  tell(found, &P::dtype, Dtype::kBf16, "dtype", KnownFrom::kName);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  return found;
}

/// fmha_cutlassF_bf16_aligned_64x128_rf_sm80(..AttentionKernel<type, arch, aligned, 64, 128, 128, ..>): Q
/// tile x KV tile, largest head dim; a grid of (Q tiles, heads, batch). Q is loaded again for each KV tile.
std::optional<Recognised> recognise_efficient(const ProfiledKernel& launch, std::string_view plain) {
  if (!contains(plain, "fmha_cutlassF")) return std::nullopt;
  Recognised found;
  const std::vector<std::int64_t> shape = shape_in(plain, 2);
  if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0)
    tell_tiles(found, shape[0], shape[1], KnownFrom::kName);
  const std::vector<std::string> kernel = template_arguments(plain, "AttentionKernel");
  if (kernel.size() > 5) found.head_dim_upto = number_of(kernel[5]);
  tell(found, &P::dtype, dtype_in(plain.substr(plain.find("fmha_cutlassF"), 24)), "dtype", KnownFrom::kName);
  tell(found, &P::heads, launch.grid[1], "heads", KnownFrom::kGrid);
  tell(found, &P::batch, launch.grid[2], "batch-size", KnownFrom::kGrid);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  found.q_tiles = launch.grid[0];
  found.reloads_q = true;
  return found;
}

/// triton_tem_fused_.._flex_attention_..: a template of Inductor's, a grid of (Q tiles, batch, heads).
std::optional<Recognised> recognise_flex(const ProfiledKernel& launch, std::string_view plain) {
  if (!contains(plain, "triton_tem") || !contains(plain, "flex_attention")) return std::nullopt;
  Recognised found;
  tell(found, &P::batch, launch.grid[1], "batch-size", KnownFrom::kGrid);
  tell(found, &P::heads, launch.grid[2], "heads", KnownFrom::kGrid);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  found.q_tiles = launch.grid[0];
  return found;
}

/// _attn_fwd and the like: kernels in the manner of Triton's tutorial, a grid of (Q tiles, batch times
/// heads).
std::optional<Recognised> recognise_triton(const ProfiledKernel& launch, std::string_view plain) {
  constexpr std::array<std::string_view, 9> kNames = {
      "_attn_fwd",     "attn_fwd",           "_fwd_kernel",  "flash_attn_fwd",  "_flash_attention_forward",
      "_attn_fwd_tma", "_attn_fwd_base_opt", "_attn_fwd_ws", "_attn_fwd_tma_ws"};
  const std::string_view base = plain.substr(0, plain.find_first_of("(<"));
  if (std::find(kNames.begin(), kNames.end(), base) == kNames.end()) return std::nullopt;
  Recognised found;
  if (launch.grid[2] == 1) {
    tell(found, &P::heads, launch.grid[1], "heads", KnownFrom::kGrid);
    tell(found, &P::batch, std::int64_t{1}, "batch-size", KnownFrom::kGrid);
  } else {
    tell(found, &P::heads, launch.grid[1], "heads", KnownFrom::kGrid);
    tell(found, &P::batch, launch.grid[2], "batch-size", KnownFrom::kGrid);
  }
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  found.q_tiles = launch.grid[0];
  return found;
}

/// SinglePrefillWithKVCacheKernel<KernelTraits<mask, Q tile, .., KV instructions, head dim instructions of QK
/// and of VO, .., warps over KV, ..>>, a grid of (Q tiles of all heads of a group, parts of the keys, KV
/// heads).
std::optional<Recognised> recognise_flashinfer(const ProfiledKernel& launch, std::string_view plain) {
  const bool single = contains(plain, "SinglePrefillWithKVCacheKernel");
  if (!single && !contains(plain, "WithRaggedKVCacheKernel") && !contains(plain, "WithPagedKVCacheKernel"))
    return std::nullopt;
  Recognised found;
  const std::vector<std::string> traits = template_arguments(plain, "KernelTraits");
  const auto number = [&](std::size_t index) {
    return index < traits.size() ? number_of(traits[index]) : std::nullopt;
  };
  const auto q_tile = number(1), kv = number(3), dim = number(4), warps = number(7);
  constexpr std::int64_t kMost = 4096;
  if (q_tile && kv && dim && warps && *q_tile > 0 && *kv > 0 && *kv<kMost&& * warps> 0 && *warps < kMost &&
      *dim < kMost) {
    tell_tiles(found, *q_tile, *kv * *warps * kMmaRows, KnownFrom::kName);
    tell(found, &P::head_dim, *dim * kMmaRows, "dim", KnownFrom::kName);
    tell(found, &P::causal, contains(traits[0], ")1"), "causal", KnownFrom::kName);
  }
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  tell(found, &P::dtype, dtype_in(plain), "dtype", KnownFrom::kName);
  if (!single) {
    found.unmodelled = "sequences of several lengths in one launch";
  } else if (launch.grid[1] > 1) {
    found.unmodelled = "CTAs share the keys of a Q tile";
  } else {
    found.q_tiles = launch.grid[0];
    tell(found, &P::heads, launch.grid[2], "heads", KnownFrom::kGrid);
    tell(found, &P::batch, std::int64_t{1}, "batch-size", KnownFrom::kFamily);
  }
  return found;
}

/// qk_int_sv_f16_attn_kernel<Q tile, KV tile, .., .., head dim, ..>, a grid of (Q tiles, heads, batch). Q and
/// K have a byte an element; V has two, or one in the kernels of sv_f8.
std::optional<Recognised> recognise_sage(const ProfiledKernel& launch, std::string_view plain) {
  if (!contains(plain, "qk_int") || !contains(plain, "_attn") || !contains(plain, "sv_f"))
    return std::nullopt;
  Recognised found;
  const std::size_t opening = plain.find('<');
  const std::string_view name = plain.substr(0, opening);
  const std::vector<std::string> arguments = template_arguments(plain, name);
  if (arguments.size() > 4) {
    const auto q_tile = number_of(arguments[0]), kv_tile = number_of(arguments[1]),
               dim = number_of(arguments[4]);
    if (q_tile && kv_tile && *q_tile > 0 && *kv_tile > 0)
      tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
    tell(found, &P::head_dim, dim, "dim", KnownFrom::kName);
    tell(found, &P::causal, contains(plain, "MaskMode)1"), "causal", KnownFrom::kName);
  }
  tell(found, &P::heads, launch.grid[1], "heads", KnownFrom::kGrid);
  tell(found, &P::batch, launch.grid[2], "batch-size", KnownFrom::kGrid);
  tell(found, &P::dtype, Dtype::kE4m3, "dtype", KnownFrom::kName);  // a byte an element
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kCyclic);
  found.q_tiles = launch.grid[0];
  if (!contains(name, "sv_f8")) found.unmodelled = "Q and K have a byte an element, and V has two";
  return found;
}

/// xFormers' kernels beside the CUTLASS one that PyTorch has too: keys in parts, by Triton.
std::optional<Recognised> recognise_xformers_splits(const ProfiledKernel&, std::string_view plain) {
  if (!contains(plain, "_fwd_kernel_splitK")) return std::nullopt;
  Recognised found;
  found.unmodelled = "CTAs share the keys of a Q tile";
  return found;
}

std::optional<Recognised> recognise_backward(const ProfiledKernel&, std::string_view plain) {
  const bool attention = contains(plain, "flash") || contains(plain, "Flash") || contains(plain, "sdpa") ||
                         contains(plain, "fmha") || contains(plain, "attention") || contains(plain, "Fna");
  const bool backward = contains(plain, "bwd") || contains(plain, "bprop") || contains(plain, "backward") ||
                        contains(plain, "fmha_cutlassB") || contains(plain, "Bwd");
  if (!attention || !backward) return std::nullopt;
  Recognised found;
  found.unmodelled = "a backward pass: only forward passes are modelled here";
  return found;
}

}  // namespace natten_sim::study
