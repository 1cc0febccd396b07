#include <random>

#include "cases.hpp"

namespace natten_sim::bench {
namespace {

using backward::KernelShape;
using backward::TokenPairs;

std::shared_ptr<const TokenPairs> shared(TokenPairs pairs) {
  return std::make_shared<const TokenPairs>(std::move(pairs));
}

struct NamedPairs {
  std::string name;
  std::shared_ptr<const TokenPairs> pairs;
};

std::vector<NamedPairs> masks(const KernelShape& kernel) {
  std::vector<NamedPairs> made;
  const std::vector<std::int64_t> lengths = {700, 1, 300, 64, 999, 128, 8};
  made.push_back({"documents", shared(backward::document_pairs(lengths))});
  const auto neighborhood = [&](const NeighborhoodMask& mask, const std::string& name) {
    made.push_back({"neighborhood " + name, shared(backward::neighborhood_pairs(
                                                mask, backward::neighborhood_tiles(kernel, mask.rank())))});
  };
  neighborhood(make_mask({2000}, {301}, {5}), "2000 window 301 stride 5");
  neighborhood(make_mask({41, 50}, {13, 18}, {4, 3}), "41x50 window 13x18 stride 4x3");
  neighborhood(make_mask({40, 48}, {9, 12}, {1, 1}, {2, 3}), "40x48 window 9x12 dilation 2x3");
  neighborhood(make_mask({12, 10, 18}, {5, 5, 7}, {1, 2, 1}, {1, 1, 2}, PerAxis<bool>{true, false, false}),
               "12x10x18 window 5x5x7, causal on the first axis");
  neighborhood(make_mask({48, 48}, {16, 16}, {16, 16}), "48x48 window 16x16 stride 16x16");
  std::mt19937_64 random(11);
  BlockMask blocks{
      (2100 + kernel.q_tile - 1) / kernel.q_tile, (1900 + kernel.kv_tile - 1) / kernel.kv_tile, {}};
  for (std::int32_t i = 0; i < blocks.q_tiles * blocks.kv_tiles; ++i)
    blocks.work.push_back(random() % 3 == 0 ? TileWork::kFull : TileWork::kNone);
  made.push_back(
      {"blocks", shared(backward::block_pairs(blocks, 2100, 1900, kernel.q_tile, kernel.kv_tile))});
  made.push_back({"random pairs", random_pairs(1500, 1700, 5)});
  return made;
}

}  // namespace

std::shared_ptr<const TokenPairs> random_pairs(std::int64_t q_tokens, std::int64_t kv_tokens,
                                               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TokenPairs pairs(q_tokens, kv_tokens);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  std::int64_t blind = 0;  // queries in a row that see nothing, or all from the first key on
  bool all = false;
  for (std::int64_t query = 0; query < q_tokens; ++query) {
    if (blind == 0 && below(200) == 0) {
      blind = 1 + below(150);
      all = below(2) == 0;
    }
    if (blind > 0) {
      --blind;
      if (all) pairs.show(query, {0, 1 + kv_tokens / 2});
      continue;
    }
    for (int run = 0; run < 3; ++run) {
      const std::int64_t begin = below(kv_tokens);
      pairs.show(query, {begin, std::min(kv_tokens, begin + below(100))});
    }
  }
  return shared(std::move(pairs));
}

void add_masks(std::vector<Case>& cases, const KernelShape& kernel, std::int64_t head_dim) {
  const backward::Band kFull{}, kCausal{std::nullopt, 0};
  const auto add = [&](const NamedPairs& each, std::int64_t heads, std::int64_t heads_kv,
                       const backward::Band& band, const std::string& algorithm) {
    cases.push_back(make_case(kernel, heads, heads_kv, each.pairs->q_tokens(), each.pairs->kv_tokens(), band,
                              algorithm, each.name + (band.right ? ", causal" : "")));
    Case& made = cases.back();
    made.problem.head_dim = head_dim;
    made.problem.pairs = each.pairs;
    if (head_dim != kernel.head_dim) made.name += " head dim " + std::to_string(head_dim);
    made.repeats = 5;
    made.delay_ns = 3000;
  };
  const std::vector<NamedPairs> all = masks(kernel);
  for (const NamedPairs& each : all) {
    for (const char* algorithm : {"ascending", "spt", "best"}) add(each, 6, 6, kFull, algorithm);
    cases.back().workers = 5;
    cases.back().repeats = 20;
  }
  add(all.front(), 8, 2, kCausal, "best");
  add(all.front(), 4, 4, {200, 0}, "spt");
  add(all.back(), 4, 1, {400, 300}, "descending");
  for (const std::size_t which : {std::size_t{0}, std::size_t{2}}) {
    add(all[which], 8, 8, kFull, "best");
    cases.back().name += ", 200 repeats";
    cases.back().repeats = 200;
    cases.back().noise = true;
  }
}

}  // namespace natten_sim::bench
