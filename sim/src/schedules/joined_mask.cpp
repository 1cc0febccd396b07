#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/window_tiles.hpp>

#include "schedules/key_progression.hpp"
#include "schedules/mask_sizes.hpp"

namespace natten_sim {
namespace {

/// The keys that a query attends to under one rule.
class RuleKeys {
 public:
  explicit RuleKeys(const SequenceTiling& tiling)
      : tiling_(tiling), shift_(tiling.kv_tokens - tiling.q_tokens) {}

  /// A document's ends are listed once.
  void prepare(const SequenceRule& rule);
  /// The keys of a query, of dilated rules too.
  [[nodiscard]] KeyProgression progression(std::int64_t query, const SequenceRule& rule) const {
    KeyProgression keys{of(query, rule)};
    if (const auto* dilated = std::get_if<DilatedMask>(&rule)) {
      const std::int64_t diagonal = (query + shift_) % dilated->step;
      keys.step = dilated->step;
      keys.residue = diagonal < 0 ? diagonal + dilated->step : diagonal;
    }
    return keys;
  }
  [[nodiscard]] TokenRange of(std::int64_t query, const SequenceRule& rule) const {
    const TokenRange keys = std::visit([&](const auto& each) { return range(query, each); }, rule);
    return {std::clamp(keys.begin, std::int64_t{0}, tiling_.kv_tokens),
            std::clamp(keys.end, std::int64_t{0}, tiling_.kv_tokens)};
  }

 private:
  [[nodiscard]] TokenRange range(std::int64_t, const FullMask&) const { return {0, tiling_.kv_tokens}; }
  [[nodiscard]] TokenRange range(std::int64_t, const DilatedMask&) const { return {0, tiling_.kv_tokens}; }
  [[nodiscard]] TokenRange range(std::int64_t query, const CausalMask&) const {
    return {0, query + shift_ + 1};
  }
  [[nodiscard]] TokenRange range(std::int64_t query, const SlidingWindowMask& window) const {
    return {query + shift_ - window.left, query + shift_ + window.right + 1};
  }
  [[nodiscard]] TokenRange range(std::int64_t, const PrefixMask& prefix) const { return {0, prefix.length}; }
  [[nodiscard]] TokenRange range(std::int64_t query, const DocumentMask& documents) const;

  SequenceTiling tiling_;
  std::int64_t shift_;
  std::vector<std::pair<const DocumentMask*, std::vector<std::int64_t>>> ends_;
};

void RuleKeys::prepare(const SequenceRule& rule) {
  if (const auto* prefix = std::get_if<PrefixMask>(&rule)) {
    if (prefix->length < 1 || prefix->length > tiling_.kv_tokens)
      throw InvalidParameter("mask prefix", std::to_string(prefix->length),
                             "1.." + std::to_string(tiling_.kv_tokens) + ", the keys");
  }
  if (const auto* window = std::get_if<SlidingWindowMask>(&rule)) {
    for (const std::int64_t side : {window->left, window->right})
      if (side < 0 || side > kMaxTokens)
        throw InvalidParameter("mask window", std::to_string(side), "0..2^40 tokens");
  }
  if (const auto* dilated = std::get_if<DilatedMask>(&rule)) {
    if (dilated->step < 1 || dilated->step > kMaxTokens)
      throw InvalidParameter("mask dilated", std::to_string(dilated->step), "1..2^40 tokens");
  }
  const auto* documents = std::get_if<DocumentMask>(&rule);
  if (documents == nullptr) return;
  std::vector<std::int64_t> ends;
  for (const std::int64_t length : documents->lengths) {
    require_size("document", length);
    ends.push_back((ends.empty() ? 0 : ends.back()) + length);
    if (ends.back() > kMaxTokens) break;
  }
  const std::int64_t sum = ends.empty() ? 0 : ends.back();
  for (const std::int64_t tokens : {tiling_.q_tokens, tiling_.kv_tokens}) {
    if (sum != tokens)
      throw InvalidParameter("mask document", "lengths whose sum is " + std::to_string(sum),
                             "a sum of " + std::to_string(tokens) + ", the tokens of queries and keys");
  }
  ends_.emplace_back(documents, std::move(ends));
}

TokenRange RuleKeys::range(std::int64_t query, const DocumentMask& documents) const {
  const auto prepared =
      std::find_if(ends_.begin(), ends_.end(), [&](const auto& each) { return each.first == &documents; });
  const std::vector<std::int64_t>& ends = prepared->second;
  const auto end = std::upper_bound(ends.begin(), ends.end(), query);
  return {end == ends.begin() ? 0 : *(end - 1), *end};
}

/// The keys of a query as ranges that do not touch, ascending.
void list_keys(std::int64_t query, const JoinedMask& mask, const RuleKeys& keys,
               std::vector<TokenRange>& out) {
  out.clear();
  for (const std::vector<SequenceRule>& all : mask.any) {
    TokenRange common = keys.of(query, all.front());
    for (const SequenceRule& rule : all) {
      const TokenRange range = keys.of(query, rule);
      common = {std::max(common.begin, range.begin), std::min(common.end, range.end)};
    }
    if (common.begin < common.end) out.push_back(common);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].begin <= out[kept].end) {
      out[kept].end = std::max(out[kept].end, out[i].end);
    } else {
      out[++kept] = out[i];
    }
  }
  if (!out.empty()) out.resize(kept + 1);
}

/// Pairs of tokens of one row of tiles, tile by tile.
class RowPairs {
 public:
  RowPairs(const SequenceTiling& tiling, std::size_t tiles)
      : tiling_(tiling), pairs_(tiles), whole_(tiles + 1) {}

  void clear() {
    std::fill(pairs_.begin(), pairs_.end(), 0);
    std::fill(whole_.begin(), whole_.end(), 0);
  }
  /// One query attends to these keys.
  void add(const TokenRange& keys) {
    const std::int64_t first = keys.begin / tiling_.kv_tile, last = (keys.end - 1) / tiling_.kv_tile;
    if (first == last) {
      pairs_[index(first)] += keys.end - keys.begin;
      return;
    }
    pairs_[index(first)] += (first + 1) * tiling_.kv_tile - keys.begin;
    pairs_[index(last)] += keys.end - last * tiling_.kv_tile;
    ++whole_[index(first + 1)];
    --whole_[index(last)];
  }
  /// The same of keys that are no range, added or taken away.
  void add(const KeyProgression& keys, std::int64_t weight) {
    for (std::int64_t tile = keys.range.begin / tiling_.kv_tile; tile * tiling_.kv_tile < keys.range.end; ++tile)
      pairs_[index(tile)] += weight * keys.within(tile * tiling_.kv_tile, (tile + 1) * tiling_.kv_tile);
  }
  /// Calls function(tile, pairs) for every tile.
  template <typename Function>
  void each(const Function& function) const {
    std::int64_t queries = 0;  // that attend to a whole tile, which is not the last: it has kv_tile keys
    for (std::size_t tile = 0; tile < pairs_.size(); ++tile) {
      queries += whole_[tile];
      function(tile, pairs_[tile] + queries * tiling_.kv_tile);
    }
  }

 private:
  static std::size_t index(std::int64_t tile) { return static_cast<std::size_t>(tile); }

  SequenceTiling tiling_;
  std::vector<std::int64_t> pairs_, whole_;
};

bool has_dilated(const JoinedMask& mask) {
  const auto is_dilated = [](const SequenceRule& rule) { return std::holds_alternative<DilatedMask>(rule); };
  return std::any_of(mask.any.begin(), mask.any.end(),
                     [&](const auto& all) { return std::any_of(all.begin(), all.end(), is_dilated); });
}

/// Keys under all of some alternatives from `next` on: those of one alternative count once, of two are counted twice
/// and so taken away once, and so on.
void add_union(const std::vector<KeyProgression>& any, std::size_t next, const KeyProgression& common,
               std::int64_t weight, RowPairs& row) {
  for (std::size_t i = next; i < any.size(); ++i) {
    const std::optional<KeyProgression> keys = common_keys(common, any[i]);
    if (!keys) continue;
    row.add(*keys, weight);
    add_union(any, i + 1, *keys, -weight, row);
  }
}

/// One query's keys under a mask with dilated rules.
void add_dilated(std::int64_t query, const JoinedMask& mask, const RuleKeys& keys, std::int64_t kv_tokens, RowPairs& row) {
  const KeyProgression all_keys{{0, kv_tokens}};
  std::vector<KeyProgression> any;
  for (const std::vector<SequenceRule>& all : mask.any) {
    std::optional<KeyProgression> common = all_keys;
    for (const SequenceRule& rule : all) {
      if (common) common = common_keys(*common, keys.progression(query, rule));
    }
    if (common) any.push_back(*common);
  }
  add_union(any, 0, all_keys, 1, row);
}

}  // namespace

TilesOfRules joined_mask(const SequenceTiling& tiling, const JoinedMask& mask) {
  require_valid(tiling);
  for (const auto& [name, tokens] : {std::pair{"seqlen_q", tiling.q_tokens}, {"seqlen_k", tiling.kv_tokens}})
    if (tokens > kMostJoinedTokens)
      throw InvalidParameter(name, std::to_string(tokens), "1..16777216 with joined rules");
  RuleKeys keys(tiling);
  for (const auto& all : mask.any)
    for (const SequenceRule& rule : all) keys.prepare(rule);
  TilesOfRules result{
      empty_mask(ceil_divide(tiling.q_tokens, tiling.q_tile), ceil_divide(tiling.kv_tokens, tiling.kv_tile))};
  const auto kv_tiles = static_cast<std::size_t>(result.tiles.kv_tiles);
  RowPairs row(tiling, kv_tiles);
  const bool dilated = has_dilated(mask);
  if (dilated && mask.any.size() > kMostDilatedRules)
    throw InvalidParameter("mask", std::to_string(mask.any.size()) + " rules joined by |",
                           "at most " + std::to_string(kMostDilatedRules) + " where one is dilated");
  std::vector<TokenRange> ranges;
  for (std::int64_t q_tile = 0; q_tile < result.tiles.q_tiles; ++q_tile) {
    row.clear();
    const std::int64_t begin = q_tile * tiling.q_tile, end = std::min(begin + tiling.q_tile, tiling.q_tokens);
    for (std::int64_t query = begin; query < end; ++query) {
      if (query % 4096 == 0) poll();
      if (dilated) {
        add_dilated(query, mask, keys, tiling.kv_tokens, row);
        continue;
      }
      list_keys(query, mask, keys, ranges);
      for (const TokenRange& range : ranges) row.add(range);
    }
    poll();
    row.each([&](std::size_t tile, std::int64_t pairs) {
      const std::int64_t first = static_cast<std::int64_t>(tile) * tiling.kv_tile;
      const std::int64_t all = (end - begin) * (std::min(first + tiling.kv_tile, tiling.kv_tokens) - first);
      if (pairs > 0)
        result.tiles.work.set(static_cast<std::size_t>(q_tile) * kv_tiles + tile,
                              pairs == all ? TileWork::kFull : TileWork::kPartial);
      result.pairs += pairs;
    });
  }
  return result;
}

double joined_tiles(const SequenceTiling& tiling, const JoinedMask& mask) {
  constexpr std::int64_t kMostRows = 512;
  RuleKeys keys(tiling);
  for (const std::vector<SequenceRule>& all : mask.any) {
    for (const SequenceRule& rule : all) keys.prepare(rule);
  }
  const std::int64_t rows = ceil_divide(tiling.q_tokens, tiling.q_tile), looked_at = std::min(rows, kMostRows);
  std::vector<TokenRange> met, of_last;
  double tiles = 0;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t row = (2 * i + 1) * rows / (2 * looked_at);
    list_keys(row * tiling.q_tile, mask, keys, met);
    list_keys(std::min((row + 1) * tiling.q_tile, tiling.q_tokens) - 1, mask, keys, of_last);
    met.insert(met.end(), of_last.begin(), of_last.end());
    std::sort(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::int64_t counted = 0;  // tiles before it
    for (const TokenRange& range : met) {
      const std::int64_t first = std::max(counted, range.begin / tiling.kv_tile), end = ceil_divide(range.end, tiling.kv_tile);
      tiles += static_cast<double>(std::max<std::int64_t>(0, end - first));
      counted = std::max(counted, end);
    }
  }
  return tiles * static_cast<double>(rows) / static_cast<double>(looked_at);
}

}  // namespace natten_sim
