#include <algorithm>

#include "../family.hpp"
#include "../kernel_name.hpp"

namespace natten_sim::study {
namespace {

using P = ExplainedProblem;

/// Head dim, rows of the tiles and element type of Flash_fwd_kernel_traits<D, M, N, warps, .., type, ..>.
/// Head dims are rounded up there unless `even` says otherwise.
bool tell_traits(std::string_view plain, bool even, Recognised& found) {
  const std::vector<std::string> traits = template_arguments(plain, "Flash_fwd_kernel_traits");
  if (traits.size() < 7) return false;
  const auto dim = number_of(traits[0]), q_tile = number_of(traits[1]), kv_tile = number_of(traits[2]);
  if (!dim || !q_tile || !kv_tile || *q_tile < 1 || *kv_tile < 1) return false;
  tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
  if (even) {
    tell(found, &P::head_dim, *dim, "dim", KnownFrom::kName);
  } else {
    found.head_dim_upto = *dim;
  }
  tell(found, &P::dtype, dtype_in(traits[6]), "dtype", KnownFrom::kName);
  return true;
}

bool is_set(const std::vector<std::string>& arguments, std::size_t index) {
  return index < arguments.size() && arguments[index] == "1";
}

}  // namespace

/// flash_fwd_kernel<traits, dropout, causal, local, alibi, even lengths, even head dim, ..>, a grid of
/// (Q tiles, batch, heads).
std::optional<Recognised> recognise_fa2(const ProfiledKernel& launch, std::string_view plain) {
  const std::vector<std::string> flags = template_arguments(plain, "flash_fwd_kernel");
  Recognised found;
  if (flags.size() < 7 || !tell_traits(plain, is_set(flags, 6), found)) return std::nullopt;
  tell(found, &P::causal, is_set(flags, 2), "causal", KnownFrom::kName);
  tell(found, &P::batch, launch.grid[1], "batch-size", KnownFrom::kGrid);
  tell(found, &P::heads, launch.grid[2], "heads", KnownFrom::kGrid);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kDescending);
  found.q_tiles = launch.grid[0];
  found.whole_q_tiles = is_set(flags, 5);
  if (is_set(flags, 3)) found.unmodelled = "a sliding window, which neither name nor grid tells";
  return found;
}

std::optional<Recognised> recognise_fa2_splits(const ProfiledKernel& launch, std::string_view plain) {
  const std::vector<std::string> flags = template_arguments(plain, "flash_fwd_splitkv_kernel");
  Recognised found;
  if (flags.size() < 8 || !tell_traits(plain, is_set(flags, 5), found)) return std::nullopt;
  tell(found, &P::causal, is_set(flags, 1), "causal", KnownFrom::kName);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kDescending);
  found.q_tiles = launch.grid[0];
  found.whole_q_tiles = is_set(flags, 4);
  found.unmodelled = "CTAs share the keys of a Q tile";
  return found;
}

/// fmha_fwd_loop_kernel<FMHA_kernel_traits<KV tile, head dim, Q rows, ..>>: a CTA keeps K and V and walks Q.
std::optional<Recognised> recognise_fa1(const ProfiledKernel&, std::string_view plain) {
  const std::vector<std::string> traits = template_arguments(plain, "FMHA_kernel_traits");
  if (traits.size() < 5 || plain.find("fmha_") == std::string_view::npos) return std::nullopt;
  Recognised found;
  const auto kv_tile = number_of(traits[0]), q_tile = number_of(traits[2]);
  if (kv_tile && q_tile && *kv_tile > 0 && *q_tile > 0)
    tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
  tell(found, &P::head_dim, number_of(traits[1]), "dim", KnownFrom::kName);
  found.unmodelled = "a CTA keeps K and V and walks over Q, another loop than the model's";
  return found;
}

/// CollectiveMainloopFwdSm90<stages, cluster, tuple<M, N, K>, dim of V, type, float, arch, causal, local,
/// softcap, varlen, paged, append, has Qv, .., split, column-major V, ..>; versions differ in what stands
/// between.
std::optional<Recognised> recognise_fa3(const ProfiledKernel&, std::string_view plain) {
  const std::vector<std::string> loop = template_arguments(plain, "CollectiveMainloopFwdSm90");
  constexpr std::size_t kFirstFlag = 7, kFewestFlags = 12;
  std::size_t end = std::min(kFirstFlag, loop.size());
  while (end < loop.size() && (loop[end] == "0" || loop[end] == "1")) ++end;
  if (end < kFirstFlag + kFewestFlags) return std::nullopt;
  const std::vector<std::string> tile = template_arguments(loop[2], "tuple");
  if (tile.size() != 3) return std::nullopt;
  const auto q_tile = number_of(tile[0]), kv_tile = number_of(tile[1]), dim = number_of(tile[2]);
  if (!q_tile || !kv_tile || !dim || *q_tile < 1 || *kv_tile < 1) return std::nullopt;
  Recognised found;
  tell_tiles(found, *q_tile, *kv_tile, KnownFrom::kName);
  tell(found, &P::head_dim, *dim, "dim", KnownFrom::kName);
  tell(found, &P::dtype, dtype_in(loop[4]), "dtype", KnownFrom::kName);
  tell(found, &P::causal, is_set(loop, 7), "causal", KnownFrom::kName);
  const bool is_static = plain.find("StaticPersistentTileScheduler") != std::string_view::npos;
  tell_walk(found, is_static ? CtaSchedule::kPersistent : CtaSchedule::kGrid, KvOrder::kDescending);
  // Dynamic schedulers begin with the longest rows.
  found.problem.longest_first = is_set(loop, 7) && !is_static;
  if (is_set(loop, 8)) found.unmodelled = "a sliding window, which neither name nor grid tells";
  if (is_set(loop, 10)) found.unmodelled = "sequences of several lengths in one launch";
  if (is_set(loop, end - 2)) found.unmodelled = "CTAs share the keys of a Q tile";
  return found;
}

/// Names made by CuTe DSL, with or without readable labels in front.
std::optional<Recognised> recognise_fa4(const ProfiledKernel&, std::string_view plain) {
  if (plain.find("FlashAttentionForwardSm") == std::string_view::npos &&
      plain.find("flash_fwd_sm") == std::string_view::npos)
    return std::nullopt;
  Recognised found;
  const std::string_view labels = plain.substr(0, plain.find("kernel_cutlass"));
  const std::size_t tile_at = labels.find("_tile");
  const std::vector<std::int64_t> tile = tile_at == std::string_view::npos
                                             ? std::vector<std::int64_t>{}
                                             : shape_in(labels.substr(tile_at + 5), 2);
  if (tile.size() == 2 && tile[0] > 0 && tile[1] > 0) tell_tiles(found, tile[0], tile[1], KnownFrom::kName);
  tell(found, &P::head_dim, number_behind(labels, "head_dim"), "dim", KnownFrom::kName);
  tell(found, &P::dtype, dtype_in(plain), "dtype", KnownFrom::kName);
  if (!labels.empty())
    tell(found, &P::causal, labels.find("_causal") != std::string_view::npos, "causal", KnownFrom::kName);
  tell_walk(found, CtaSchedule::kGrid, KvOrder::kDescending);
  return found;
}

}  // namespace natten_sim::study
