#include <algorithm>
#include <functional>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/window_tiles.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "schedules/mask_sizes.hpp"

namespace natten_sim {
namespace {

/// Keys first .. last, not clipped to the keys that exist.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The keys of one query form one range; both of its ends never decrease from query to query, and the ranges
/// of neighbouring queries overlap or touch. So the keys that some query of a tile attends to, and those that
/// all do, follow from its first and its last query.
BlockMask mask_of_ranges(const SequenceTiling& tiling, const std::function<KeyRange(std::int64_t)>& keys) {
  BlockMask mask =
      empty_mask(ceil_divide(tiling.q_tokens, tiling.q_tile), ceil_divide(tiling.kv_tokens, tiling.kv_tile));
  std::size_t cell = 0;
  for (std::int64_t q = 0; q < mask.q_tiles; ++q) {
    poll();
    const KeyRange first = keys(q * tiling.q_tile);
    const KeyRange last = keys(std::min((q + 1) * tiling.q_tile, tiling.q_tokens) - 1);
    for (std::int64_t kv = 0; kv < mask.kv_tiles; ++kv, ++cell) {
      const std::int64_t key = kv * tiling.kv_tile;
      const std::int64_t key_last = std::min(key + tiling.kv_tile, tiling.kv_tokens) - 1;
      if (last.first <= key && key_last <= first.last) {
        mask.work[cell] = TileWork::kFull;
      } else if (first.first <= key_last && key <= last.last) {
        mask.work[cell] = TileWork::kPartial;
      }
    }
  }
  return mask;
}

void require_valid(const SequenceTiling& tiling, const SequenceWindow& window) {
  require_valid(tiling);
  for (const auto& [name, side] :
       {std::pair{"window_left", window.left}, std::pair{"window_right", window.right}}) {
    if (side && (*side < 0 || *side > kMaxTokens))
      throw InvalidParameter(name, std::to_string(*side), "0..1099511627776 tokens");
  }
}

KeyRange keys_of(std::int64_t query, const SequenceTiling& tiling, const SequenceWindow& window) {
  const std::int64_t diagonal = query + tiling.kv_tokens - tiling.q_tokens;
  return {window.left ? diagonal - *window.left : 0, window.right ? diagonal + *window.right : tiling.kv_tokens - 1};
}

}  // namespace

BlockMask window_mask(const SequenceTiling& tiling, const SequenceWindow& window) {
  require_valid(tiling, window);
  return mask_of_ranges(tiling, [&](std::int64_t query) { return keys_of(query, tiling, window); });
}

std::int64_t window_tiles(const SequenceTiling& tiling, const SequenceWindow& window) {
  require_valid(tiling, window);
  const std::int64_t rows = ceil_divide(tiling.q_tokens, tiling.q_tile);
  require_edges(rows, ceil_divide(tiling.kv_tokens, tiling.kv_tile));
  std::int64_t tiles = 0;
  for (std::int64_t q = 0; q < rows; ++q) {
    const std::int64_t first = keys_of(q * tiling.q_tile, tiling, window).first;
    const std::int64_t last = keys_of(std::min((q + 1) * tiling.q_tile, tiling.q_tokens) - 1, tiling, window).last;
    if (first >= tiling.kv_tokens || last < 0) continue;
    tiles += std::min(last, tiling.kv_tokens - 1) / tiling.kv_tile - std::max<std::int64_t>(first, 0) / tiling.kv_tile + 1;
  }
  return tiles;
}

BlockMask document_mask(const SequenceTiling& tiling, const std::vector<std::int64_t>& lengths) {
  require_valid(tiling);
  std::vector<std::int64_t> ends;
  for (const std::int64_t length : lengths) {
    require_size("document", length);
    ends.push_back((ends.empty() ? 0 : ends.back()) + length);
    if (ends.back() > kMaxTokens) break;
  }
  for (const auto& [name, tokens] :
       {std::pair{"seqlen_q", tiling.q_tokens}, std::pair{"seqlen_k", tiling.kv_tokens}}) {
    if (ends.empty() || ends.back() != tokens) {
      throw InvalidParameter("document",
                             "lengths whose sum is " + std::to_string(ends.empty() ? 0 : ends.back()),
                             std::string("a sum of ") + std::to_string(tokens) + ", the " + name);
    }
  }
  return mask_of_ranges(tiling, [&](std::int64_t query) {
    const auto end = std::upper_bound(ends.begin(), ends.end(), query);
    return KeyRange{end == ends.begin() ? 0 : *(end - 1), *end - 1};
  });
}

BlockMask neighborhood_mask(const TilingProblem& problem) {
  require_valid(problem);
  if (problem.kv_tiling == KvTiling::kDynamic && problem.tiling == Tiling::kMultiDimensional)
    throw InvalidParameter("kv_tiling", "dynamic",
                           "static: the tiles of a schedule are shared by all Q tiles");
  // Tiles of a group, and the first tile of every group: groups of a dilated axis differ in length.
  std::vector<std::pair<std::int64_t, std::int64_t>> groups;
  std::int64_t q_tiles = 0, kv_tiles = 0;
  if (problem.tiling == Tiling::kSingleDimensional) {
    const std::int64_t tokens = product(input_of(problem.mask), "tokens");
    groups.emplace_back(0, 0);
    q_tiles = ceil_divide(tokens, problem.tiles.q_tile[0]);
    kv_tiles = ceil_divide(tokens, problem.tiles.kv_tile[0]);
  } else {
    const std::int64_t count = product(dilation_of(problem.mask), "dilation groups");
    if (count > kMostMaskEdge)
      throw InvalidParameter("dilation", std::to_string(count) + " groups", "at most 65536");
    for (std::int64_t group = 0; group < count; ++group) {
      poll();
      std::int64_t q_here = 1, kv_here = 1, rest = group;
      for (std::size_t axis = problem.mask.rank(); axis-- > 0;) {
        const std::int64_t dilation = problem.mask[axis].dilation;
        const std::int64_t length = residue_class(problem.mask[axis], rest % dilation).length;
        rest /= dilation;
        q_here = checked_multiply(q_here, ceil_divide(length, problem.tiles.q_tile[axis]), "Q tiles");
        kv_here = checked_multiply(kv_here, ceil_divide(length, problem.tiles.kv_tile[axis]), "KV tiles");
      }
      groups.emplace_back(q_tiles, kv_tiles);
      q_tiles = checked_add(q_tiles, q_here, "Q tiles");
      kv_tiles = checked_add(kv_tiles, kv_here, "KV tiles");
    }
  }
  BlockMask mask = empty_mask(q_tiles, kv_tiles);
  TilingProblem forward = problem;
  forward.walk = Walk::kForward;
  for_each_tile_visit(forward, [&](const TileVisit& visit) {
    const auto& [first_q, first_kv] = groups[static_cast<std::size_t>(visit.group)];
    mask.work[static_cast<std::size_t>((first_q + visit.q_tile) * kv_tiles + first_kv + visit.kv_tile)] =
        visit.work == TileWork::kFull ? TileWork::kFull : TileWork::kPartial;
  });
  return mask;
}

}  // namespace natten_sim
