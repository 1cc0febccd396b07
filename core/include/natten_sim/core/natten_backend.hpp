#pragma once

#include <natten_sim/core/names.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// The attention backends of NATTEN. Each has a kernel for neighborhood attention (FNA) and one for dense
/// attention (FMHA), which also serves additional keys and windows that cover the input.
enum class NattenBackend { kHopperFna, kBlackwellFna, kCutlassFna, kFlexFna };

template <>
struct NamesOf<NattenBackend> {
  static constexpr const char* kConcept = "backend";
  static constexpr Name<NattenBackend> kTable[] = {{NattenBackend::kHopperFna, "hopper-fna"},
                                                   {NattenBackend::kBlackwellFna, "blackwell-fna"},
                                                   {NattenBackend::kCutlassFna, "cutlass-fna"},
                                                   {NattenBackend::kFlexFna, "flex-fna"}};
};

/// `hopper-fmha`: the dense kernel of the same family.
[[nodiscard]] const char* fmha_name(NattenBackend backend) noexcept;

/// Whether tokens are copied into tiles before the kernel runs, and back after it.
[[nodiscard]] constexpr bool permutes_tokens(NattenBackend backend) noexcept {
  return backend != NattenBackend::kCutlassFna;
}

/// Whether NATTEN repeats K and V for all query heads before it calls the kernels of `backend`, the dense
/// ones too: they know no grouped heads. Source: NATTEN 0.21.6, natten/backends.
[[nodiscard]] constexpr bool repeats_kv(NattenBackend backend) noexcept {
  return backend == NattenBackend::kHopperFna || backend == NattenBackend::kCutlassFna;
}

/// Where the streamed tiles lie. Only in the forward kernel of cutlass-fna do they move with the walked tile;
/// its backward kernel aligns the first query down to the Q tile.
[[nodiscard]] constexpr KvTiling streamed_tiling(NattenBackend backend, Walk pass) noexcept {
  return backend == NattenBackend::kCutlassFna && pass == Walk::kForward ? KvTiling::kDynamic
                                                                         : KvTiling::kStatic;
}

/// Whether NATTEN hands the call to its dense kernels, whatever backend and tiles were asked for: the window
/// covers the input on every axis and no axis is causal; on one axis without additional keys, causal too.
[[nodiscard]] bool takes_dense_path(const Extents& input, const Extents& window, const PerAxis<bool>& causal,
                                    bool additional_keys) noexcept;

}  // namespace natten_sim
