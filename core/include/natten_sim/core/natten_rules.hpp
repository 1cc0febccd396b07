#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// What one release of NATTEN accepts: data/natten has a file for each.

/// A tile pair that a backend implements.
struct BackendTiles {
  TilePair tiles;
  std::optional<std::int64_t> head_dim;  ///< none: any
  std::string variant;                   ///< GEMM shape or kernel schedule, if the backend names one
};

/// What NATTEN takes when a call names no tiles.
struct NattenDefaultTiles {
  std::optional<TilePair> forward;
  std::optional<TilePair> backward;
};

/// Accepted head dims: those listed, or lowest .. highest under the conditions.
struct HeadDimRule {
  std::vector<std::int64_t> only;
  std::int64_t lowest = 1;
  std::int64_t highest = 0;
  std::int64_t multiple = 1;
  bool power_of_two = false;

  [[nodiscard]] bool accepts(std::int64_t head_dim) const noexcept;
  /// The accepted head dim nearest to `head_dim`; ties go to the larger.
  [[nodiscard]] std::int64_t nearest(std::int64_t head_dim) const noexcept;
  /// `8 to 128, multiples of 8`.
  [[nodiscard]] std::string text() const;
};

/// On which GPUs forward tiles of one GEMM shape run.
struct GemmRule {
  std::string gemm;                                        ///< `64x128`
  std::vector<std::int64_t> compute_capabilities;          ///< empty: all but those
  std::vector<std::int64_t> without_compute_capabilities;  ///< too little shared memory

  [[nodiscard]] bool fits(std::int64_t compute_capability) const noexcept;
};

struct NattenBackendRules {
  NattenBackend backend = NattenBackend::kHopperFna;
  std::vector<std::int64_t> compute_capabilities;  ///< empty: every one from the lowest on
  std::int64_t lowest_compute_capability = 0;
  std::vector<Dtype> dtypes;
  std::vector<Dtype> forward_dtypes;   ///< accepted in addition when no gradient is needed
  std::vector<Dtype> compiled_dtypes;  ///< empty: the same as dtypes
  HeadDimRule head_dims;
  std::optional<HeadDimRule> fp8_head_dims;
  std::optional<HeadDimRule> backward_head_dims;
  std::optional<HeadDimRule> compiled_head_dims;
  bool value_head_dim_may_differ = false;
  bool backward_config_required = false;  ///< a head dim without a backward kernel fails in inference too
  bool deterministic_backward = true;
  bool deterministic_dense_backward = true;
  std::vector<NattenDefaultTiles> default_tiles;  ///< by rank; empty: the first of the table
  std::vector<GemmRule> forward_gemms;            ///< of cutlass-fna; a GEMM without a rule runs everywhere
  std::vector<BackendTiles> forward;
  std::vector<BackendTiles> backward;
};

/// All rules that the Python code of one release checks, and the tiles that it knows.
struct NattenRules {
  std::string version;                       ///< `0.21.7`
  std::string source;                        ///< what they were read from
  std::string copies;                        ///< the first release with this one's copies into tiles
  std::vector<std::string> changes;          ///< what users of the release before notice, a sentence each
  std::vector<NattenBackendRules> backends;  ///< in the order in which NATTEN tries them
  [[nodiscard]] const NattenBackendRules& of(NattenBackend backend) const;
};

}  // namespace natten_sim
