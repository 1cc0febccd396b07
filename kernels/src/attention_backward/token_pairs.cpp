#include <algorithm>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/attention_backward/token_pairs.hpp>

namespace natten_sim::kernels::attention_backward {
namespace {

constexpr std::int64_t kMaxTokenPairs = std::int64_t{1} << 36;

/// Row-major coordinates of place `i` of a box.
std::vector<std::int64_t> coordinates_in(const std::vector<std::int64_t>& box, std::int64_t i) {
  std::vector<std::int64_t> at(box.size());
  for (std::size_t axis = box.size(); axis-- > 0;) {
    at[axis] = i % box[axis];
    i /= box[axis];
  }
  return at;
}

std::int64_t volume(const std::vector<std::int64_t>& box) {
  std::int64_t all = 1;
  for (const std::int64_t side : box) all = checked_multiply(all, side, "tokens");
  return all;
}

}  // namespace

TokenPairs::TokenPairs(std::int64_t q_tokens, std::int64_t kv_tokens)
    : q_tokens_(q_tokens), kv_tokens_(kv_tokens), words_(ceil_divide(kv_tokens, std::int64_t{64})) {
  for (const auto& [name, tokens] : {std::pair{"q_tokens", q_tokens}, std::pair{"kv_tokens", kv_tokens}}) {
    if (tokens < 1 || tokens > kMaxTokenPairs)
      throw InvalidParameter(name, std::to_string(tokens), "1 or more, 2^36 pairs in all");
  }
  if (q_tokens > kMaxTokenPairs / kv_tokens) {
    throw InvalidParameter("pairs", std::to_string(q_tokens) + " x " + std::to_string(kv_tokens),
                           "at most 2^36");
  }
  bits_.assign(static_cast<std::size_t>(q_tokens * words_), 0);
}

std::span<const std::uint64_t> TokenPairs::row(std::int64_t query) const noexcept {
  return {bits_.data() + query * words_, static_cast<std::size_t>(words_)};
}

bool TokenPairs::sees(std::int64_t query, std::int64_t key) const noexcept {
  return (row(query)[static_cast<std::size_t>(key / 64)] >> (key % 64) & 1) != 0;
}

void TokenPairs::show(std::int64_t query, TokenRange keys) noexcept {
  std::uint64_t* row = bits_.data() + query * words_;
  for (std::int64_t key = keys.begin; key < keys.end;) {
    const std::int64_t word = key / 64, end = std::min(keys.end, 64 * (word + 1));
    const std::uint64_t ones = end - key == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - key)) - 1;
    row[word] |= ones << (key % 64);
    key = end;
  }
}

void TokenPairs::show(std::int64_t query, std::span<const std::uint64_t> keys) noexcept {
  std::uint64_t* row = bits_.data() + query * words_;
  for (std::size_t word = 0; word < keys.size(); ++word) row[word] |= keys[word];
}

TokenPairs document_pairs(std::span<const std::int64_t> lengths) {
  std::int64_t tokens = 0;
  for (const std::int64_t length : lengths) {
    if (length < 1 || length > kMaxTokenPairs)
      throw InvalidParameter("document", std::to_string(length), "1 token or more");
    tokens += length;
  }
  if (lengths.empty()) throw InvalidParameter("document", "none", "one document or more");
  TokenPairs pairs(tokens, tokens);
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    for (std::int64_t query = first; query < first + length; ++query)
      pairs.show(query, {first, first + length});
    first += length;
  }
  return pairs;
}

TokenPairs block_pairs(const BlockMask& blocks, std::int64_t q_tokens, std::int64_t kv_tokens,
                       std::int64_t q_tile, std::int64_t kv_tile) {
  if (ceil_divide(q_tokens, q_tile) != blocks.q_tiles || ceil_divide(kv_tokens, kv_tile) != blocks.kv_tiles) {
    throw InvalidParameter("blocks", std::to_string(blocks.q_tiles) + " x " + std::to_string(blocks.kv_tiles),
                           "as many tiles as the tokens make");
  }
  TokenPairs pairs(q_tokens, kv_tokens);
  for (std::int64_t query = 0; query < q_tokens; ++query) {
    for (std::int32_t kv = 0; kv < blocks.kv_tiles; ++kv) {
      if (blocks.at(static_cast<std::int32_t>(query / q_tile), kv) == TileWork::kNone) continue;
      pairs.show(query, {kv * kv_tile, std::min((kv + 1) * kv_tile, kv_tokens)});
    }
  }
  return pairs;
}

std::vector<std::int64_t> tile_order(const NeighborhoodMask& mask, const Extents& tile) {
  if (tile.rank() != mask.rank())
    throw InvalidParameter("tile", std::to_string(tile.rank()) + " axes", std::to_string(mask.rank()));
  const std::size_t rank = mask.rank();
  std::vector<std::int64_t> dilation(rank), inside(rank), length(rank), tiles(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    dilation[axis] = mask[axis].dilation;
    inside[axis] = tile[axis];
  }
  std::vector<std::int64_t> order;
  for (std::int64_t group = 0; group < volume(dilation); ++group) {
    const std::vector<std::int64_t> residue = coordinates_in(dilation, group);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      length[axis] = residue_class(mask[axis], residue[axis]).length;
      tiles[axis] = ceil_divide(length[axis], tile[axis]);
    }
    for (std::int64_t number = 0; number < volume(tiles); ++number) {
      const std::vector<std::int64_t> corner = coordinates_in(tiles, number);
      for (std::int64_t place = 0; place < volume(inside); ++place) {
        const std::vector<std::int64_t> offset = coordinates_in(inside, place);
        std::int64_t token = 0;
        for (std::size_t axis = 0; axis < rank; ++axis) {
          const std::int64_t at = corner[axis] * tile[axis] + offset[axis];
          if (at >= length[axis]) {
            token = -1;
            break;
          }
          token = token * mask[axis].length + at * mask[axis].dilation + residue[axis];
        }
        order.push_back(token);
      }
    }
  }
  return order;
}

TokenPairs neighborhood_pairs(const NeighborhoodMask& mask, const TilePair& tiles) {
  require_valid(mask);
  const std::vector<std::int64_t> queries = tile_order(mask, tiles.q_tile);
  const std::vector<std::int64_t> keys = tile_order(mask, tiles.kv_tile);
  std::vector<std::int64_t> layout(mask.rank());
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) layout[axis] = mask[axis].length;
  TokenPairs pairs(static_cast<std::int64_t>(queries.size()), static_cast<std::int64_t>(keys.size()));
  // A query sees what it sees on every axis: for each axis and coordinate of a query, the keys as bits.
  const auto words = static_cast<std::size_t>(pairs.words());
  std::vector<std::vector<std::uint64_t>> seen(mask.rank());
  for (std::size_t axis = 0; axis < mask.rank(); ++axis)
    seen[axis].assign(static_cast<std::size_t>(layout[axis]) * words, 0);
  for (std::size_t place = 0; place < keys.size(); ++place) {
    if (keys[place] < 0) continue;
    const std::vector<std::int64_t> key = coordinates_in(layout, keys[place]);
    for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
      const AxisMask& rule = mask[axis];
      for (std::int64_t at = key[axis] % rule.dilation; at < rule.length; at += rule.dilation) {
        const TokenRange range = attended_range(residue_class(rule, at % rule.dilation), at / rule.dilation);
        const std::int64_t other = key[axis] / rule.dilation;
        if (other < range.begin || other >= range.end) continue;
        seen[axis][static_cast<std::size_t>(at) * words + place / 64] |= std::uint64_t{1} << (place % 64);
      }
    }
  }
  std::vector<std::uint64_t> row(words);
  for (std::int64_t place = 0; place < pairs.q_tokens(); ++place) {
    const std::int64_t token = queries[static_cast<std::size_t>(place)];
    if (token < 0) continue;
    const std::vector<std::int64_t> at = coordinates_in(layout, token);
    std::fill(row.begin(), row.end(), ~std::uint64_t{0});
    for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
      const std::uint64_t* keys_of_axis = seen[axis].data() + static_cast<std::size_t>(at[axis]) * words;
      for (std::size_t word = 0; word < words; ++word) row[word] &= keys_of_axis[word];
    }
    pairs.show(place, row);
  }
  return pairs;
}

}  // namespace natten_sim::kernels::attention_backward
