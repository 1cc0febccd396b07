#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/search/windows/recall.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// What windows keep of a model's own attention, and which window each of its heads should have.

/// Whether each head has a window of its own, or all heads of a layer the same.
enum class RecallPer { kHead, kLayer };

/// One of the two is given.
struct RecallWish {
  std::optional<double> least_recall;  ///< mean share over all heads, 0..1, in the least time
  std::optional<double> budget_ms;     ///< most recall in these milliseconds, all layers together
  RecallPer per = RecallPer::kHead;
};

/// What masks keep of the attention of each head, 0..1.
struct MaskRecalls {
  std::size_t layers = 1, heads = 0, masks = 0;
  std::vector<double> values;  // (layers, heads, masks)

  [[nodiscard]] double at(std::size_t layer, std::size_t head, std::size_t mask) const {
    return values[(layer * heads + head) * masks + mask];
  }
  [[nodiscard]] double mean(std::size_t mask) const;   ///< over all heads
  [[nodiscard]] double least(std::size_t mask) const;  ///< of all heads
};

/// Exact for the table (search's MaskRecall), which is a file as io's OffsetTables reads it.
/// @throws InvalidParameter naming `recall` for a file that cannot be read; MalformedData.
[[nodiscard]] MaskRecalls recalls_of(const std::string& table, const Extents& layout,
                                     std::span<const NeighborhoodMask> masks, const Context& context);

/// Heads of one layer that run together, because they have the same window.
struct RecallLaunch {
  std::size_t layer = 0;
  std::vector<std::size_t> heads;
  std::size_t candidate = 0;  ///< of RecallChoice::answer
  double recall = 0;          ///< mean of these heads
  double ms = 0;              ///< of these heads alone
};

struct RecallChoice {
  SearchAnswer answer;  ///< its candidates are those that launches have, the fastest first, with the time of all heads
  std::size_t layers = 1, heads = 0;
  std::vector<RecallLaunch> launches;  ///< by layer, in each the fastest first
  double recall = 0;                   ///< mean over all heads
  double ms = 0;                       ///< of all launches
  std::optional<double> dense_ms;      ///< of dense attention in all layers
  std::optional<double> least_ms;      ///< with a least recall: no choice of these candidates takes less
  std::optional<double> most_recall;   ///< with a budget: no choice of these candidates keeps more
  std::vector<TradePoint> front;       ///< mean recall over time, where some heads take their share of a launch of all
};

/// A window for every head. Candidates are dense attention and, for every tile choice that the question leaves, windows
/// of whole KV tiles or whole axes, with stride 1, strides of a Q tile, and strides with which NATTEN masks nothing; at
/// most 24 windows along an axis, evenly spaced. Heads take steps up the hull of recall over time (search's RecallTrade)
/// until the wish ends them; then single heads take candidates off the hull that end nearer to it, as long as
/// the launches take less, or keep more. A budget holds for the launches as they are, asked one by one. Not proved
/// best: `least_ms` and `most_recall` bound what is missing. They take for each head the least share that it has of any
/// launch of its window, and let heads be split between windows (search's RecallTrade::least_cost).
/// Ranges, tiles, sparsity, imbalance and the fast path are those of the question.
/// Cost: a time for each candidate, and MaskRecall's of each head.
/// @throws InvalidParameter for both wishes or none, a table of other heads than the question's, constraints that are not
/// named above, a budget below what the fastest candidates take, a recall that none reaches; and as search(), recalls_of().
[[nodiscard]] RecallChoice choose_by_recall(const SearchQuestion& question, const std::string& table,
                                            const RecallWish& wish, const Context& context);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::RecallPer> {
  static constexpr const char* kConcept = "recall_per";
  static constexpr Name<study::RecallPer> kTable[] = {{study::RecallPer::kHead, "head"},
                                                      {study::RecallPer::kLayer, "layer"}};
};

}  // namespace natten_sim
