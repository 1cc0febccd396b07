#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/natten_rules.hpp>

namespace natten_sim {

/// A call of natten.na1d, na2d or na3d on a device. It may hold any values; `refusal_of` checks them.
struct NattenCall {
  Extents input;
  Extents window;
  Extents stride;        ///< empty: 1
  Extents dilation;      ///< empty: 1
  PerAxis<bool> causal;  ///< empty: not causal
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;
  std::int64_t head_dim = 64;
  std::int64_t head_dim_value = 64;
  Dtype dtype = Dtype::kFp16;
  std::int64_t compute_capability = 90;  ///< compute capability of the device: 90 for sm_90
  bool requires_grad = false;
  bool deterministic = false;              ///< PyTorch's deterministic algorithms are enabled
  std::optional<NattenBackend> backend;    ///< none: NATTEN chooses
  std::optional<TilePair> tiles;           ///< none: NATTEN's default
  std::optional<TilePair> backward_tiles;  ///< none: NATTEN's default; flex-fna ignores them
  std::string kernel_schedule;             ///< `non`, `coop`, `pp`; empty: NATTEN's default
  std::int64_t additional_keys = 0;        ///< tokens of additional_keys and additional_values
  bool torch_compile = false;              ///< compiles FlexAttention, after natten.allow_flex_compile()
};

/// Why NATTEN raises on a call.
struct NattenRefusal {
  std::string rule;       ///< `kernel sizes are 2 or more`
  std::string parameter;  ///< `kernel_size`
  std::string value;
  std::string accepted;
  std::string nearest;  ///< a value that this rule accepts; empty if none is close
};

/// The first rule that the call breaks; empty if NATTEN's checks accept it. Written from the Python checks of
/// each release and run against them in tests/natten_checks. Does not consider the device's memory.
[[nodiscard]] std::optional<NattenRefusal> refusal_of(const NattenRules& rules, const NattenCall& call);

/// @throws InvalidParameter naming the parameter, the value and what is accepted.
void require_accepted(const NattenRules& rules, const NattenCall& call);

/// A backend that NATTEN would rather have taken, and the rule that kept it from that.
struct PassedOverBackend {
  NattenBackend backend = NattenBackend::kHopperFna;
  NattenRefusal refusal;
};

/// The backend that `choose_backend` takes for a call without one.
struct BackendChoice {
  NattenBackend backend = NattenBackend::kHopperFna;
  std::optional<NattenRefusal> refusal;  ///< none of the backends runs the call: the last one's reason
  /// Those tried before that are made for the device.
  std::vector<PassedOverBackend> passed_over;
};

/// Tiles and window do not matter, nor does `call.backend`.
[[nodiscard]] BackendChoice choose_backend(const NattenRules& rules, const NattenCall& call);

/// Why the backend of the call, which has one, does not run its head dims, types, gradients or device, whatever the
/// window; none: it does.
[[nodiscard]] std::optional<NattenRefusal> backend_refusal(const NattenRules& rules, const NattenCall& call);

/// Whether a kernel of these tiles, for layouts of `rank` axes, was compiled for the call's head dim, type and device.
[[nodiscard]] bool is_compiled(const NattenBackendRules& rules, const BackendTiles& entry, std::size_t rank, Walk pass,
                               const NattenCall& call);

/// The family of the dense kernel that `choose_fmha_backend` takes, and the configuration checks of that kernel:
/// for a window that covers the input, `causal` if its one axis is, and for additional keys.
[[nodiscard]] BackendChoice choose_dense_backend(const NattenRules& rules, const NattenCall& call, bool causal);

/// What NATTEN does with an accepted call.
struct NattenDispatch {
  NattenBackend backend = NattenBackend::kHopperFna;  ///< the family of the kernel that runs
  bool dense_path = false;        ///< one FMHA call, whatever backend and tiles were given
  std::optional<TilePair> tiles;  ///< none: flex-fna without tiles flattens the tokens, 64 a tile
  std::optional<TilePair> backward_tiles;
  std::string kernel_schedule;  ///< kernel schedule of hopper-fna; empty for other backends
  NattenBackend fmha = NattenBackend::kHopperFna;  ///< serves the dense path and additional keys
  TilePair fmha_tiles;
  TilePair fmha_backward_tiles;
};

/// Either why NATTEN raises on a call, or what it does with it.
struct NattenVerdict {
  std::optional<NattenRefusal> refusal;
  std::optional<NattenDispatch> dispatch;  ///< of an accepted call
};

/// refusal_of() and dispatch_of() at once.
[[nodiscard]] NattenVerdict verdict_of(const NattenRules& rules, const NattenCall& call);

/// @throws InvalidParameter when NATTEN refuses the call.
[[nodiscard]] NattenDispatch dispatch_of(const NattenRules& rules, const NattenCall& call);

/// `call` as NATTEN's profiler is asked for it. The profiler gives the products of the tiles and the kernel schedule
/// to the dense kernel too. So they are left out where that is all that runs, and with additional keys where they
/// are the defaults. @throws InvalidParameter if NATTEN refuses the call, or the dense kernel what is left.
[[nodiscard]] NattenCall profiler_call(const NattenRules& rules, const NattenCall& call);

}  // namespace natten_sim
