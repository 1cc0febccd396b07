#pragma once

#include <optional>

#include <natten_sim/core/natten_call.hpp>

namespace natten_sim {

/// Shapes, heads and the kernel schedule's name: `na_tensor_checks`, `additional_kv_tensor_checks`,
/// `check_kernel_schedule`.
[[nodiscard]] std::optional<NattenRefusal> tensor_refusal(const NattenCall& call);

/// `check_all_args`, `check_args_against_input`. Requires a call that passed tensor_refusal.
[[nodiscard]] std::optional<NattenRefusal> mask_refusal(const NattenCall& call);

[[nodiscard]] PerAxis<bool> causal_or_none(const NattenCall& call);

/// The backend that was asked for, else that of choose_backend().
[[nodiscard]] BackendChoice choose_fna(const NattenRules& rules, const NattenCall& call);

/// The configuration checks of FNA backends: tiles and schedules that exist.
[[nodiscard]] std::optional<NattenRefusal> tiles_refusal(const NattenBackendRules& rules,
                                                         const NattenCall& call);

/// Whether the family of `rules` was compiled for these tiles, on as many axes as `call.input` has, and for the
/// schedule, if that is not empty.
[[nodiscard]] std::optional<NattenRefusal> pair_refusal(const NattenBackendRules& rules, const NattenCall& call,
                                                        Walk pass, const TilePair& tiles,
                                                        const std::string& schedule);

struct DefaultConfig {
  BackendTiles forward;
  std::optional<TilePair> backward;
};

/// NATTEN's own defaults for layouts of `rank` axes.
[[nodiscard]] DefaultConfig default_config(const NattenBackendRules& rules, std::size_t rank,
                                           const NattenCall& call);

/// The schedule that hopper-fna runs with these tiles: the one asked for, else the first of the table.
[[nodiscard]] std::string schedule_of(const NattenBackendRules& rules, const NattenCall& call,
                                      const TilePair& tiles);

}  // namespace natten_sim
