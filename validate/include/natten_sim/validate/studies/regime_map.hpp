#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/validate/record/recording.hpp>
#include <natten_sim/validate/record/sdpa_recording.hpp>

namespace natten_sim::validate {

/// This project's attention kernel beside PyTorch's backends over sequence length and head dim: where it is
/// competitive, how much the choice of tiles matters, and what to use where (TiledAttention, sections 5.3,
/// 5.5 and 6). Everything is computed from two recordings of one GPU. Cells that could not run stay in the
/// map, with the reason.

/// TFLOP/s of a median time, or why there is none.
struct Throughput {
  std::optional<double> tflops;
  std::string status = kMeasured;
};

struct TilesThroughput {
  std::string tiles;  ///< "128x64x2": Q tile, KV tile, stages
  Throughput throughput;
};

/// One problem. This project's kernel is compared with the fastest of its tiles.
struct RegimeCell {
  kernels::AttentionProblem problem;
  std::vector<TilesThroughput> own;   ///< in the order of the recording; possibly none
  std::vector<Throughput> backends;   ///< in the order of sdpa_backends()
  std::optional<std::size_t> best{};  ///< the fastest of `own`; the first of equals

  /// Own TFLOP/s over a backend's; 1 is parity. Empty where either is missing.
  [[nodiscard]] std::optional<double> ratio(std::size_t backend) const;
  /// Throughput of the best tiles, or why there are none.
  [[nodiscard]] Throughput own_throughput() const;
};

struct RegimeMap {
  std::string device;
  std::string framework;
  std::string driver;
  std::vector<RegimeCell> cells;  ///< by dtype (bf16 first), mask (full first), head dim, tokens
};

/// Every problem of either recording. @throws InvalidParameter when the two name different devices or
/// drivers: such ratios would compare machines.
[[nodiscard]] RegimeMap regime_map(const Recording& tiles, const SdpaRecording& sdpa);

/// What a tile shape loses against the best of each length, over the lengths of a band and both dtypes.
struct TilesSensitivity {
  std::int64_t head_dim = 0;
  bool causal = false;
  std::string band;  ///< "short" up to 2048 tokens, "long" beyond: the TiledAttention paper's two contexts
  std::string tiles;
  std::size_t cells = 0;  ///< lengths and dtypes that it ran on
  std::size_t best = 0;   ///< cells in which it is the fastest
  double mean_loss = 0;   ///< 1 - own / best
  double worst_loss = 0;
};
[[nodiscard]] std::vector<TilesSensitivity> tiles_sensitivity(const RegimeMap& map);

/// Which kernel to call, and which tiles to choose for ours. Neighbouring lengths with the same answer are
/// one row.
struct Decision {
  std::int64_t head_dim = 0;
  Dtype dtype = Dtype::kBf16;
  bool causal = false;
  std::int64_t from_tokens = 0;
  std::int64_t to_tokens = 0;
  std::string fastest;            ///< a forced backend, or "natten-sim"
  double fastest_tflops = 0;      ///< at to_tokens
  std::optional<double> of_auto;  ///< share of the fastest that "auto" reaches: the least over the row
  std::string tiles;              ///< our best, or why there are none
  std::optional<double> own_least, own_most;  ///< our share of the fastest over the row
};
[[nodiscard]] std::vector<Decision> decisions(const RegimeMap& map);

}  // namespace natten_sim::validate
