#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <natten_sim/core/backward_kernel.hpp>
#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// Attention kernels as a kernel file describes them: those that ship (data/attention-kernels.json) and a user's.

/// A whole-kernel rate, dense mask: `heads` heads of `tokens` tokens at once.
struct KernelRate {
  std::string device;
  std::int64_t head_dim = 0;
  double flops_per_s = 0;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  /// Rate of a CTA alone on its SM, as a share of the rate of an SM with all its CTAs.
  double lone_share = 1;
  double slot_skew = 0;      ///< (youngest - oldest CTA of an SM) / mean time of a tile
  double jitter = 0;         ///< standard deviation of a tile's time, as a fraction of it
  double score_share = 0.5;  ///< of a tile's time, the part by K: scores and softmax
  /// From asking for a tile of kTimedTileBytes to its arrival from the L2, on an SM at work; 0: not known.
  double arrival_ns = 0;
  bool measured = false;  ///< whether the rate was measured; `source` covers the rest
  std::string source;
  /// Those of these numbers that nobody measured with this kernel, by their names in the file.
  std::vector<std::string> assumed = {};
};

struct KernelTile {
  std::int64_t head_dim = 0;
  std::int64_t kv_tile = 0;
  std::optional<std::int64_t> stages;  ///< KV tiles in shared memory; none: not known
};

/// Which visited tiles evaluate a mask: those that it masks partly, or all.
enum class KernelMasking { kPartialTiles, kVisitedTiles };

template <>
struct NamesOf<KernelMasking> {
  static constexpr const char* kConcept = "masking";
  static constexpr Name<KernelMasking> kTable[] = {{KernelMasking::kPartialTiles, "partial-tiles"},
                                                   {KernelMasking::kVisitedTiles, "visited-tiles"}};
};

/// Which axis of a launch's grid counts what. Heads without an axis of batches are those of all batches.
struct KernelGrid {
  std::optional<std::size_t> q_tiles = {}, heads = {}, batch = {};
};

/// How an attention kernel (forward pass) walks Q, K and V, how it is launched, and how profiles show it.
struct AttentionKernel {
  std::string name;
  std::string title;
  std::int64_t q_tile = 0;
  std::vector<KernelTile> kv_tiles;
  CtaSchedule schedule = CtaSchedule::kPersistent;
  KvOrder order = KvOrder::kCyclic;
  std::int64_t ctas_per_sm = 1;
  std::vector<KernelRate> rates;
  std::string source;
  LaunchOrder launch = LaunchOrder::kTilesFirst;
  bool longest_first = false;  ///< the last Q tile of a head is launched first
  KernelMasking masking = KernelMasking::kPartialTiles;
  std::optional<Dtype> dtype = {};                 ///< none: any
  std::vector<std::string> architectures = {};     ///< as devices name theirs; none: all
  KernelGrid grid = {};
  std::vector<std::string> names = {};             ///< texts of its launches' names; none: profiles do not show it
  std::optional<BackwardKernel> backward = {};     ///< its backward pass; none: not known
  std::string file = {};                           ///< a user's; empty: the kernel ships

  /// Null: it has none for this head dim.
  [[nodiscard]] const KernelTile* tile_of(std::int64_t head_dim) const noexcept {
    for (const KernelTile& tile : kv_tiles) {
      if (tile.head_dim == head_dim) return &tile;
    }
    return nullptr;
  }
};

/// A kernel as options name it: one that ships or that the catalog knows by its name, or one of a kernel file.
struct KernelChoice {
  std::string name;
  std::string file = {};                                  ///< as it was given; empty: a name was
  std::shared_ptr<const AttentionKernel> own = {};  ///< of the file; none: it is one that ships

  KernelChoice() = default;
  KernelChoice(std::string named) : name(std::move(named)) {}  // NOLINT: a name is a choice
  KernelChoice(const char* named) : name(named) {}             // NOLINT
  operator const std::string&() const noexcept { return name; }  // NOLINT: known by its name
  friend bool operator==(const KernelChoice& choice, std::string_view other) { return choice.name == other; }
};

/// What was given: a file, else the name.
[[nodiscard]] inline const std::string& to_string(const KernelChoice& choice) {
  return choice.file.empty() ? choice.name : choice.file;
}

}  // namespace natten_sim
