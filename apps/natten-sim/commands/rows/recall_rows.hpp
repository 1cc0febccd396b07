#pragma once

#include <optional>
#include <string>

#include <natten_sim/study/recall.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// A model's own attention, and what is wished of it.
struct RecallFlags {
  std::optional<std::string> table;
  std::optional<double> least_recall, budget_ms;
  std::optional<study::RecallPer> per;
};

[[nodiscard]] const Options<RecallFlags>& recall_rows();

/// Whether a window is wished for every head, not only what candidates keep.
[[nodiscard]] bool has_wish(const RecallFlags& flags);
[[nodiscard]] study::RecallWish wish_of(const RecallFlags& flags);

}  // namespace natten_sim::cli
