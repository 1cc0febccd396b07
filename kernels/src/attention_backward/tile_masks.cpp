// The mask as the kernel meets it: which pairs of tiles attend, and patterns of the partial ones.
#include "attention_backward/tile_masks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include <natten_sim/core/error.hpp>

namespace natten_sim::kernels::attention_backward {
namespace {

constexpr std::int64_t kMaxEdge = 65536;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;
constexpr std::size_t kKeyWords = 2;  // a KV tile has 128 keys

/// Keys of one KV tile that a query sees.
using KeyBits = std::array<std::uint64_t, kKeyWords>;

TokenRange band_of(const Problem& problem, std::int64_t query) {
  const std::int64_t diagonal = query + problem.kv_tokens - problem.q_tokens;
  const std::int64_t begin = std::max<std::int64_t>(diagonal - problem.mask.left.value_or(kNoLimit), 0);
  const std::int64_t end = std::min(diagonal + problem.mask.right.value_or(kNoLimit) + 1, problem.kv_tokens);
  return {begin, std::max(begin, end)};
}

std::uint64_t ones_before(std::int64_t bit) {
  return bit <= 0 ? 0 : bit >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bit) - 1;
}

KeyBits keys_of(const Problem& problem, std::int64_t query, std::int64_t first_key) {
  const TokenRange band = band_of(problem, query);
  const auto row = problem.pairs->row(query);
  KeyBits bits{};
  for (std::size_t i = 0; i < kKeyWords; ++i) {
    const auto word = static_cast<std::size_t>(first_key / 64) + i;
    if (word >= row.size()) continue;
    const std::int64_t first = static_cast<std::int64_t>(word) * 64;
    bits[i] = row[word] & ones_before(band.end - first) & ~ones_before(band.begin - first);
  }
  return bits;
}

struct TileBits {
  bool any = false, all = true;
  std::array<KeyBits, 128> of{};  // by query of the tile
};

TileBits tile_bits(const Problem& problem, const KernelShape& kernel, std::int64_t q_tile,
                   std::int64_t kv_tile) {
  TileBits made;
  const std::int64_t first = q_tile * kernel.q_tile, key = kv_tile * kernel.kv_tile;
  for (std::int64_t i = 0; i < kernel.q_tile && first + i < problem.q_tokens; ++i) {
    const KeyBits bits = keys_of(problem, first + i, key);
    made.of[static_cast<std::size_t>(i)] = bits;
    made.any = made.any || bits[0] != 0 || bits[1] != 0;
    made.all = made.all && bits[0] == ~std::uint64_t{0} && bits[1] == ~std::uint64_t{0};
  }
  return made;
}

TileWork work_of_pairs(const Problem& problem, const KernelShape& kernel, std::int64_t q, std::int64_t kv) {
  const TileBits bits = tile_bits(problem, kernel, q, kv);
  return !bits.any ? TileWork::kNone : bits.all ? TileWork::kFull : TileWork::kPartial;
}

TileWork work_of_band(const Problem& problem, const KernelShape& kernel, std::int64_t q, std::int64_t kv) {
  const std::int64_t shift = problem.kv_tokens - problem.q_tokens;
  const std::int64_t left = problem.mask.left.value_or(kNoLimit),
                     right = problem.mask.right.value_or(kNoLimit);
  const std::int64_t first = q * kernel.q_tile + shift;  // diagonal of the first and of the last query
  const std::int64_t last = std::min((q + 1) * kernel.q_tile, problem.q_tokens) - 1 + shift;
  const std::int64_t begin = kv * kernel.kv_tile;
  const std::int64_t end = std::min((kv + 1) * kernel.kv_tile, problem.kv_tokens);
  const bool attends = begin <= last + right && end - 1 >= first - left;
  const bool whole = end == (kv + 1) * kernel.kv_tile;  // keys that do not exist are hidden by the mask
  const bool full = whole && begin >= last - left && end - 1 <= first + right;
  return !attends ? TileWork::kNone : full ? TileWork::kFull : TileWork::kPartial;
}

Pattern pattern_of(const TileBits& bits, int q_tile) {
  Pattern made;
  for (int thread = 0; thread < kConsumerThreads; ++thread) {
    const int warpgroup = thread / 128, warp = thread / 32 % 4, lane = thread % 32;
    for (int half = 0; half < 2; ++half) {
      const int key = 16 * warp + lane / 4 + 8 * half;
      for (int j = 0; j < q_tile / 8; ++j) {
        for (int e = 0; e < 2; ++e) {
          const auto query = static_cast<std::size_t>(8 * j + 2 * (lane % 4) + e);
          const std::uint64_t seen = bits.of[query][static_cast<std::size_t>(warpgroup)] >> key & 1;
          made.word[thread][half] |= static_cast<std::uint32_t>(seen) << (2 * j + e);
        }
      }
    }
  }
  return made;
}

}  // namespace

TilePair neighborhood_tiles(const KernelShape& kernel, std::size_t rank) {
  const bool wide = kernel.q_tile == 128;
  if (kernel.kv_tile != 128 || (kernel.q_tile != 64 && !wide))
    throw InvalidParameter("kernel", std::to_string(kernel.q_tile),
                           "tiles of 64 or 128 queries and 128 keys");
  switch (rank) {
    case 1:
      return {{kernel.q_tile}, {kernel.kv_tile}};
    case 2:
      return {wide ? Extents{16, 8} : Extents{8, 8}, {16, 8}};
    case 3:
      return {wide ? Extents{4, 4, 8} : Extents{4, 4, 4}, {4, 4, 8}};
    default:
      throw InvalidParameter("input", std::to_string(rank) + " axes", "1 to 3");
  }
}

BlockMask block_mask(const Problem& problem, const KernelShape& kernel) {
  const std::int64_t q_tiles = (problem.q_tokens + kernel.q_tile - 1) / kernel.q_tile;
  const std::int64_t kv_tiles = (problem.kv_tokens + kernel.kv_tile - 1) / kernel.kv_tile;
  for (const auto& [name, edge] : {std::pair{"q_tokens", q_tiles}, std::pair{"kv_tokens", kv_tiles}}) {
    if (edge > kMaxEdge)
      throw InvalidParameter(name, std::to_string(edge) + " tiles", "65,536 tiles or fewer");
  }
  BlockMask mask{static_cast<std::int32_t>(q_tiles), static_cast<std::int32_t>(kv_tiles), {}};
  for (std::int64_t q = 0; q < q_tiles; ++q) {
    for (std::int64_t kv = 0; kv < kv_tiles; ++kv) {
      mask.work.push_back(problem.pairs != nullptr ? work_of_pairs(problem, kernel, q, kv)
                                                   : work_of_band(problem, kernel, q, kv));
    }
  }
  return mask;
}

PatternTable pattern_table(const Problem& problem, const KernelShape& kernel, const BlockMask& mask) {
  PatternTable made;
  if (problem.pairs == nullptr) return made;
  made.patterns.emplace_back();  // nothing is seen
  made.of.assign(mask.work.size(), made.nothing);
  std::unordered_map<std::string, std::uint16_t> known;
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv) {
      if (mask.at(q, kv) != TileWork::kPartial) continue;
      const TileBits bits = tile_bits(problem, kernel, q, kv);
      std::string name(sizeof bits.of, '\0');
      std::memcpy(name.data(), bits.of.data(), sizeof bits.of);
      const auto found = known.find(name);
      if (found != known.end()) {
        made.of[mask_cell(mask, q, kv)] = found->second;
        continue;
      }
      if (made.patterns.size() == 65536)
        throw InvalidParameter("pairs", "more than 65,536 different partial tiles", "at most 65,536");
      const auto number = static_cast<std::uint16_t>(made.patterns.size());
      made.patterns.push_back(pattern_of(bits, kernel.q_tile));
      known.emplace(std::move(name), number);
      made.of[mask_cell(mask, q, kv)] = number;
    }
  }
  return made;
}

BackwardProblem scheduling_problem(const Problem& problem, const KernelShape& kernel, std::int32_t workers) {
  BackwardProblem made;
  made.mask = block_mask(problem, kernel);
  made.heads = static_cast<std::int32_t>(problem.heads * problem.batch);
  made.heads_per_kv_head = static_cast<std::int32_t>(problem.heads / problem.heads_kv);
  made.workers = workers;
  return made;
}

BackwardProblem grouped_problem(const Problem& problem, const KernelShape& kernel, std::int32_t workers) {
  BackwardProblem made = scheduling_problem(problem, kernel, workers);
  const std::int32_t group = made.heads_per_kv_head;
  if (std::int64_t{group} * made.mask.q_tiles > kMaxEdge) {
    throw InvalidParameter("q_tokens", std::to_string(group * made.mask.q_tiles) + " tiles of a group",
                           "65,536 tiles or fewer");
  }
  const MaskCells of_head = made.mask.work;
  for (std::int32_t head = 1; head < group; ++head) made.mask.work.append(of_head);
  made.mask.q_tiles *= group;
  made.heads /= group;
  made.heads_per_kv_head = 1;
  return made;
}

}  // namespace natten_sim::kernels::attention_backward
