#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/schedule_costs.hpp>

namespace natten_sim {

/// Attention backward kernels that people run, as a release has them on GPU architectures: one file of
/// data/backward-kernels/ each. What their tasks cost on a device is data/schedule-costs/.

enum class ReductionMode { kDeterministic, kUnordered };

template <>
struct NamesOf<ReductionMode> {
  static constexpr const char* kConcept = "mode";
  static constexpr Name<ReductionMode> kTable[] = {{ReductionMode::kDeterministic, "deterministic"},
                                                   {ReductionMode::kUnordered, "unordered"}};
};

/// What a launch keeps beside inputs and gradients. kOneDq: an fp32 dQ. kDqPerCta: one for each CTA of a
/// head. kScores: dP of every pair of tokens in the element type, for a pass of its own that makes dQ.
enum class KernelMemory { kOneDq, kDqPerCta, kScores };

template <>
struct NamesOf<KernelMemory> {
  static constexpr const char* kConcept = "memory";
  static constexpr Name<KernelMemory> kTable[] = {{KernelMemory::kOneDq, "one-dq"},
                                                  {KernelMemory::kDqPerCta, "dq-per-cta"},
                                                  {KernelMemory::kScores, "scores"}};
};

/// Whether launches begin by clearing the fp32 dQ, or store the first part of each of its tiles.
enum class DqClearing { kAlways, kNever };

template <>
struct NamesOf<DqClearing> {
  static constexpr const char* kConcept = "clearing";
  static constexpr Name<DqClearing> kTable[] = {{DqClearing::kAlways, "always"},
                                                {DqClearing::kNever, "never"}};
};

struct TileTokens {
  std::int64_t q = 0, kv = 0;
};

/// Both ends included.
struct HeadDims {
  std::int64_t least = 1, most = 1;
  [[nodiscard]] bool contain(std::int64_t head_dim) const { return least <= head_dim && head_dim <= most; }
};

struct KernelTiles {
  HeadDims head_dims;
  std::vector<MaskClass> masks;
  TileTokens tokens;  ///< of one CTA
  /// CTAs of a cluster that share their KV tiles; each adds half of a dQ tile for both.
  std::int32_t ctas = 1;
};

/// How chains of some masks are launched in one mode.
struct KernelLaunch {
  ReductionMode mode = ReductionMode::kUnordered;
  std::vector<MaskClass> masks;
  HeadDims head_dims;
  std::string algorithm;
  Dispatch dispatch = Dispatch::kDynamic;
  TileWalk walk = TileWalk::kInOrder;
  KernelMemory memory = KernelMemory::kOneDq;
  /// Largest memory that the launch takes; calls that need more have the next launch. None: any.
  std::optional<std::int64_t> memory_limit_bytes;
  /// Sections of heads whose Q, dO and fp32 dQ fit into so many bytes. None: of one head.
  std::optional<std::int64_t> section_bytes;
  std::optional<std::int32_t> heads_per_section;  ///< the same, given as heads; 0: as the algorithm has it
  bool heads_within_l2 = false;                   ///< of a search: as many heads at work as the L2 holds
  std::string launch_order;  ///< in words; {heads} and {ctas} stand for numbers of the call
  std::string dq_order;      ///< in words
};

struct BackwardKernel {
  std::string name;
  std::string title;
  std::string release;
  std::vector<std::string> architectures;  ///< as devices name theirs
  std::int32_t position = 0;               ///< place in lists, ascending
  std::vector<Dtype> dtypes;
  TurnRelease turn_release = TurnRelease::kAtOnce;
  std::string dkv_order;  ///< of grouped heads, in words
  DqClearing clearing = DqClearing::kAlways;
  std::vector<KernelTiles> tiles;
  std::vector<KernelLaunch> launches;  ///< the first that fits is taken
  std::string source;

  /// Null: it has none for this head dim and mask.
  [[nodiscard]] const KernelTiles* tiles_of(std::int64_t head_dim, MaskClass mask) const;
  /// "1 to 128, 256".
  [[nodiscard]] std::string head_dim_text() const;
  /// As `--kernel` takes it: "fa4@4.0.0b36".
  [[nodiscard]] std::string full_name() const { return name + "@" + release; }
};

}  // namespace natten_sim
