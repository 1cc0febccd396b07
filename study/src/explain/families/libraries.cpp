#include <algorithm>
#include <array>

#include "../family.hpp"
#include "../kernel_name.hpp"

namespace natten_sim::study {
namespace {

using P = ExplainedProblem;

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
  constexpr std::array<std::string_view, 5> kNames = {"_attn_fwd", "attn_fwd", "_fwd_kernel",
                                                      "flash_attn_fwd", "_flash_attention_forward"};
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
