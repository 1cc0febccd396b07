#pragma once

#include <cstdint>

#include <natten_sim/core/tile_count.hpp>

namespace natten_sim {

/// Multipliers that turn token pairs into floating-point operations.
struct Workload {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;        ///< head dim of Q and K
  std::int64_t head_dim_value = 64;  ///< head dim of V and O

  friend constexpr bool operator==(const Workload&, const Workload&) = default;
};

/// FLOPs of all heads and batch elements; a multiply-add is two. 2^63 of them are ten seconds of a GPU: they
/// have 128 bits.
struct Flops {
  Int128 attended = 0;  ///< FLOPs of the token pairs that attend
  Int128 mma = 0;       ///< FLOPs of the visited tiles, padding included
  Int128 dense = 0;     ///< FLOPs of dense attention over the same tokens
};

/// Forward: 2 (d + dv) FLOPs a token pair (S = Q K^T and O = P V). Backward: 2 (3 d + 2 dv) (S again, dP = dO
/// V^T, dV = P^T dO, dQ = dS K, dK = dS^T Q). Softmax is not counted.
/// @throws InvalidParameter if a multiplier is not positive; OverflowError naming the sum.
[[nodiscard]] Flops flops(const TileCount& count, const Workload& workload);

/// Flops::mma as a double, for counts whose FLOPs do not fit in 127 bits.
[[nodiscard]] double approximate_mma_flops(const TileCount& count, const Workload& workload);

/// Tokens beyond the layout (registers, text) that every query attends to, in a dense pass of their own.
struct ExtraKvCount {
  std::int64_t tokens = 0;
  std::int64_t kv_tiles = 0;       ///< ceil(tokens / |kv_tile|)
  std::int64_t visited_tiles = 0;  ///< walked Q tiles times kv_tiles
  std::int64_t attended_pairs = 0;
  std::int64_t mma_pairs = 0;
};

/// Requires a forward count; `problem` is what it was counted from.
/// @throws InvalidParameter when tokens < 0; OverflowError.
[[nodiscard]] ExtraKvCount count_extra_kv(const TilingProblem& problem, const TileCount& count,
                                          std::int64_t tokens);

/// How much of a model's run time is attention, and in which part of its steps attention stays dense.
struct AttentionShare {
  double share = 1.0;            ///< attention's share of the end-to-end time, 0..1
  std::int64_t dense_steps = 0;  ///< K of N steps keep dense attention
  std::int64_t steps = 1;
};

/// Amdahl's law over steps: 1 / (1 - p + p (k + (1 - k) / speedup)) with p = share, k = dense_steps / steps.
/// Source: Hassani, tables 4.2 to 4.4 (which first round the speedup to one decimal; this does not).
/// @throws InvalidParameter if share is outside 0..1, steps < 1, dense_steps outside 0..steps, speedup <= 0.
[[nodiscard]] double end_to_end_speedup(const AttentionShare& share, double operation_speedup);

/// @throws InvalidParameter as above.
void require_valid(const AttentionShare& share);

}  // namespace natten_sim
