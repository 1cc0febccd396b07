#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/split_q.hpp>

namespace natten_sim {

/// A copy of one tensor into tiles, or back out of them.
struct PermutedTensor {
  const char* name = "";  ///< `q`, `k`, `v`, `o`, `do`, `lse`, `dq`, `dk`, `dv`
  bool into_tiles = true;
  std::int64_t padded_tokens = 0;  ///< tokens of one head and batch element, padded to tiles
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
};

/// What NATTEN copies around its multi-dimensional kernels: every dilation group is padded to whole tiles, so
/// an axis takes ceil(L / (tile * dilation)) tiles a group. Into tiles, a copy reads the tokens and writes
/// the padded ones; out of tiles it reads and writes the tokens. cutlass-fna copies nothing.
struct TokenPermutation {
  std::vector<PermutedTensor> copies;
  std::int64_t bytes = 0;  ///< read and written
};

/// Forward: Q, K, V in, O and the log-sum-exp (fp32) out. Backward of hopper-fna and blackwell-fna: Q, O, dO,
/// the log-sum-exp, K, V in, dQ, dK, dV out; of flex-fna, by its autograd: dO in, dQ, dK, dV out. hopper-fna
/// repeats K and V for all heads first. `sizes.sector_bytes` does not matter.
/// Source: NATTEN 0.21.6, natten/backends and natten/token_permute.
/// @throws InvalidParameter on an invalid mask, tiles or sizes; OverflowError naming the quantity.
[[nodiscard]] TokenPermutation token_permutation(const NeighborhoodMask& mask, NattenBackend backend,
                                                 const TilePair& tiles, Walk pass, const OperandSizes& sizes);

/// A copy of K or V from its own heads to all query heads or, backward, the sum of dK or dV over the query
/// heads of a group.
struct HeadRepetition {
  const char* name = "";  ///< `k`, `v`, `dk`, `dv`
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
};

/// What NATTEN copies of `tokens` keys where repeats_kv() holds; nothing where every query head has its own K
/// and V. @throws InvalidParameter on invalid sizes; OverflowError.
[[nodiscard]] std::vector<HeadRepetition> kv_repetition(std::int64_t tokens, NattenBackend backend, Walk pass,
                                                        const OperandSizes& sizes);

}  // namespace natten_sim
