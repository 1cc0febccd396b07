#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>

namespace natten_sim {
namespace {

std::int64_t padded_tokens(const NeighborhoodMask& mask, const Extents& tile) {
  std::int64_t tokens = 1;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    const std::int64_t tiles = ceil_divide(ceil_divide(mask[axis].length, tile[axis]), mask[axis].dilation);
    const std::int64_t group = checked_multiply(tiles, tile[axis], "padded_tokens");
    tokens = checked_multiply(tokens, checked_multiply(group, mask[axis].dilation, "padded_tokens"),
                              "padded_tokens");
  }
  return tokens;
}

class Copies {
 public:
  Copies(const NeighborhoodMask& mask, const TilePair& tiles, const OperandSizes& sizes)
      : tokens_(product(input_of(mask), "tokens")),
        q_padded_(padded_tokens(mask, tiles.q_tile)),
        kv_padded_(padded_tokens(mask, tiles.kv_tile)),
        sizes_(sizes) {
    constexpr std::size_t kMostCopies = 9;
    permutation_.copies.reserve(kMostCopies);
  }

  void add(const char* name, bool into_tiles, bool along_q, std::int64_t heads, std::int64_t row_bytes) {
    const std::int64_t padded = along_q ? q_padded_ : kv_padded_;
    const std::int64_t rows = checked_multiply(sizes_.batch, heads, "bytes");
    const std::int64_t token_bytes = checked_multiply(rows, row_bytes, "bytes");
    const std::int64_t plain = checked_multiply(tokens_, token_bytes, "bytes");
    const std::int64_t written = into_tiles ? checked_multiply(padded, token_bytes, "bytes") : plain;
    permutation_.copies.push_back({name, into_tiles, padded, plain, written});
    permutation_.bytes = checked_add(permutation_.bytes, checked_add(plain, written, "bytes"), "bytes");
  }
  [[nodiscard]] TokenPermutation permutation() && { return std::move(permutation_); }

 private:
  std::int64_t tokens_, q_padded_, kv_padded_;
  const OperandSizes& sizes_;
  TokenPermutation permutation_;
};

void require_positive(const OperandSizes& sizes) {
  require_extents("heads", Extents{sizes.heads}, 1, 1, kMaxAxisLength);
  require_extents("heads_kv", Extents{sizes.heads_kv}, 1, 1, sizes.heads);
  require_extents("batch", Extents{sizes.batch}, 1, 1, kMaxAxisLength);
  require_extents("head_dim", Extents{sizes.head_dim}, 1, 1, kMaxAxisLength);
  require_extents("head_dim_value", Extents{sizes.head_dim_value}, 1, 1, kMaxAxisLength);
  require_extents("element_bytes", Extents{sizes.element_bytes}, 1, 1, 8);
}

}  // namespace

TokenPermutation token_permutation(const NeighborhoodMask& mask, NattenBackend backend, const TilePair& tiles,
                                   Walk pass, const OperandSizes& sizes) {
  require_valid(TilingProblem{.mask = mask, .tiles = tiles});
  require_positive(sizes);
  if (!permutes_tokens(backend)) return {};
  constexpr std::int64_t kFp32Bytes = 4;
  const std::int64_t key_row = checked_multiply(sizes.head_dim, sizes.element_bytes, "bytes");
  const std::int64_t value_row = checked_multiply(sizes.head_dim_value, sizes.element_bytes, "bytes");
  const std::int64_t heads_kv = repeats_kv(backend) ? sizes.heads : sizes.heads_kv;
  Copies copies(mask, tiles, sizes);
  if (pass == Walk::kForward) {
    copies.add("q", true, true, sizes.heads, key_row);
    copies.add("k", true, false, heads_kv, key_row);
    copies.add("v", true, false, heads_kv, value_row);
    copies.add("o", false, true, sizes.heads, value_row);
    copies.add("lse", false, true, sizes.heads, kFp32Bytes);
    return std::move(copies).permutation();
  }
  copies.add("do", true, true, sizes.heads, value_row);
  if (backend != NattenBackend::kFlexFna) {
    copies.add("q", true, true, sizes.heads, key_row);
    copies.add("o", true, true, sizes.heads, value_row);
    copies.add("lse", true, true, sizes.heads, kFp32Bytes);
    copies.add("k", true, false, heads_kv, key_row);
    copies.add("v", true, false, heads_kv, value_row);
  }
  copies.add("dq", false, true, sizes.heads, key_row);
  copies.add("dk", false, false, heads_kv, key_row);
  copies.add("dv", false, false, heads_kv, value_row);
  return std::move(copies).permutation();
}

std::vector<HeadRepetition> kv_repetition(std::int64_t tokens, NattenBackend backend, Walk pass,
                                          const OperandSizes& sizes) {
  require_positive(sizes);
  if (!repeats_kv(backend) || sizes.heads_kv == sizes.heads) return {};
  const auto copy = [&](const char* name, std::int64_t head_dim) {
    const std::int64_t row = checked_multiply(head_dim, sizes.element_bytes, "bytes");
    const std::int64_t of_head =
        checked_multiply(checked_multiply(tokens, sizes.batch, "bytes"), row, "bytes");
    const std::int64_t grouped = checked_multiply(of_head, sizes.heads_kv, "bytes");
    const std::int64_t repeated = checked_multiply(of_head, sizes.heads, "bytes");
    return pass == Walk::kForward ? HeadRepetition{name, grouped, repeated}
                                  : HeadRepetition{name, repeated, grouped};
  };
  if (pass == Walk::kForward) return {copy("k", sizes.head_dim), copy("v", sizes.head_dim_value)};
  return {copy("dk", sizes.head_dim), copy("dv", sizes.head_dim_value)};
}

}  // namespace natten_sim
