#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace natten_sim::kernels::attention_forward {

/// KV tiles [begin, end) of an item, for one CTA.
struct SplitPart {
  std::int32_t item = -1;  ///< none: the CTA has nothing to do in this round
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t number = 0;  ///< among the item's parts, in order of keys
  std::int32_t parts = 1;

  friend bool operator==(const SplitPart&, const SplitPart&) = default;
};

/// What a launch does in place of its last items: rounds of one part a CTA, CTA w taking parts w, w + CTAs, ..
/// of the list.
struct SplitTail {
  std::int32_t whole_items = 0;  ///< these come first, undivided; a multiple of the CTAs unless all are whole
  std::vector<SplitPart> parts;
  double makespan = 0;  ///< in KV tiles, of the CTA that ends last
};

/// What an item costs besides its KV tiles, and a part of a divided one besides that, in KV tiles.
struct SplitCosts {
  double item = 0.5;
  double part = 2;
};

/// Splits the last items of a static round robin along their keys so that CTAs end together: 68 items for 132
/// CTAs keep half of them waiting. `tiles`: KV tiles of each item in launch order. The last incomplete round and
/// up to one full one before it are tried; an item is cut into parts of at least two tiles, CTA after CTA, each
/// filled up to a common level. All items stay whole where that is no more than a quarter of a tile slower.
/// O(items + CTAs log makespan).
[[nodiscard]] SplitTail split_tail(std::span<const std::int32_t> tiles, std::int32_t ctas,
                                   const SplitCosts& costs = {});

}  // namespace natten_sim::kernels::attention_forward
