#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/offset_tables.hpp>
#include <natten_sim/search/windows/recall.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/describe/members.hpp>

namespace natten_sim::study {

/// What windows keep of a model's own attention, and which window each of its heads should have.

/// Whether each head has a window of its own, or all heads of a layer the same.
enum class RecallPer { kHead, kLayer };

/// With a wish, of which one is given, a window is chosen for every head; else candidates say what they keep.
struct RecallQuestion {
  std::optional<std::string> table;    ///< a file as io's OffsetTables reads it
  std::optional<double> least_recall;  ///< mean share over all heads, 0..1, in the least time
  std::optional<double> budget_ms;     ///< most recall in these milliseconds, all layers together
  std::optional<RecallPer> per;        ///< none: each head has its own

  [[nodiscard]] bool has_wish() const noexcept { return least_recall || budget_ms; }
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
/// Of tables that nobody has read from yet.
[[nodiscard]] MaskRecalls recalls_of(OffsetTables tables, const Extents& layout, std::span<const NeighborhoodMask> masks,
                                     const Context& context);

/// KV heads that a launch of some of a layer's heads, ascending, is given: those of the heads, if each of them serves as
/// many of the heads as the others, as grouped heads must; else one for each head.
[[nodiscard]] std::vector<std::size_t> kv_heads_of(const std::vector<std::size_t>& heads, std::size_t heads_per_kv_head);

/// Heads of one layer that run together, because they have the same window.
struct RecallLaunch {
  std::size_t layer = 0;
  std::vector<std::size_t> heads;
  std::vector<std::size_t> kv_heads;  ///< kv_heads_of(heads)
  std::size_t candidate = 0;
  double recall = 0;          ///< mean of these heads
  double ms = 0;              ///< of these heads alone
};

/// A window for every head; `candidate` is one of the answer's, which are those that launches have.
struct RecallChoice {
  std::size_t layers = 1, heads = 0;
  std::vector<RecallLaunch> launches;  ///< by layer, in each the fastest first
  double recall = 0;                   ///< mean over all heads
  double ms = 0;                       ///< of all launches
  std::optional<double> dense_ms;      ///< of dense attention in all layers
  std::optional<double> end_to_end_speedup;  ///< of inference, when attention's share is known
  std::optional<double> least_ms;      ///< with a least recall: no choice of these candidates takes less
  std::optional<double> most_recall;   ///< with a budget: no choice of these candidates keeps more
  std::vector<TradePoint> front;       ///< mean recall over time, where some heads take their share of a launch of all
};

template <typename Members>
void describe_recall(Members& members) {
  using R = RecallQuestion;
  members.group("Recall of a model's attention");
  members.add("recall", &R::table,
              {.value = "FILE",
               .help = "Attention by offset of a model's heads (.npy): say what the windows keep of it",
               .echo = Echo::kWhenSet});
  members.add("least_recall", &R::least_recall,
              {.value = "SHARE",
               .help = "Choose a window for each head: this mean share, 0..1, in the least time",
               .accepted = "0 to 1",
               .echo = Echo::kWhenSet,
               .excludes = {"budget_ms"},
               .needs = {"recall"}});
  members.add("budget_ms", &R::budget_ms,
              {.value = "MS",
               .help = "Choose a window for each head: most recall in these milliseconds, 1e-6..1e12, all layers together",
               .interval = {1e-6, 1e12},
               .accepted = "1e-6 to 1e12 milliseconds",
               .echo = Echo::kWhenSet,
               .needs = {"recall"}});
  members.add("recall_per", &R::per,
              {.value = "NAME",
               .help = "What has one window: each head, or all heads of a layer [head]",
               .echo = Echo::kWhenSet,
               .needs = {"recall"}});
}

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::RecallPer> {
  static constexpr const char* kConcept = "recall_per";
  static constexpr Name<study::RecallPer> kTable[] = {{study::RecallPer::kHead, "head"},
                                                      {study::RecallPer::kLayer, "layer"}};
};

}  // namespace natten_sim
