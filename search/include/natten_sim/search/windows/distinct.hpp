#pragma once

#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// Which combinations are one answer. Of those the first in the order of `search_best` stays.
enum class Distinct {
  kNone,    ///< none: every combination is an answer of its own
  kTiles,   ///< the same tile shapes, and the same KV tiles visited by every Q tile: strides on an axis that
            ///< the window covers, windows that end in the same tiles
  kStride,  ///< the same window and stride, whatever the tile shapes; of what is left, as kTiles
  kWindow,  ///< the same window, whatever strides and tile shapes; of what is left, as kTiles
};

template <>
struct NamesOf<Distinct> {
  static constexpr const char* kConcept = "distinct";
  static constexpr Name<Distinct> kTable[] = {{Distinct::kWindow, "window"},
                                              {Distinct::kStride, "stride"},
                                              {Distinct::kTiles, "tiles"},
                                              {Distinct::kNone, "none"}};
};

struct DistinctResult {
  SearchResult search;   ///< its candidates are distinct, in the order of `search_best`
  bool complete = true;  ///< false: more than 2^16 combinations were alike, and fewer than `top` came of them
  bool sketched = false;  ///< by time: only windows and strides that tiles divide were searched, there are too many
};

/// The `top` best answers that are distinct. Cost: that of `search_best` for as many combinations as have to
/// be looked at, doubled until enough of them differ, of which strides on covered axes (kWindow: all but the
/// best strides of a window) are left out beforehand; and O(tiles) for each of them.
/// @throws as search_best.
[[nodiscard]] DistinctResult search_distinct(const SearchSpace& space, const SearchConstraints& constraints,
                                             Objective objective, std::size_t top, Distinct distinct,
                                             const SearchRun& run = {});

}  // namespace natten_sim
