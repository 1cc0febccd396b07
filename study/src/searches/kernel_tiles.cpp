#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "flex_blocks.hpp"
#include "searches/search_space.hpp"
#include "searches/search_times.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

constexpr std::array<Walk, 2> kPasses = {Walk::kForward, Walk::kBackward};

CostCell cell_of(const TimedKernel& kernel, const Setting& setting, Walk walk, const Catalog& catalog) {
  return {.kernel = kernel.name,
          .device = catalog.device(*setting.device).name,
          .head_dim = *setting.head_dim,
          .dtype = setting.dtype.value(),
          .pass = walk,
          .q_tile_tokens = std::nullopt,
          .kv_tile_tokens = std::nullopt};
}

/// Sizes of tiles that have been looked up, with what was found.
class TimedSizes {
 public:
  TimedSizes(const TimedKernel& kernel, const Setting& setting, Walk walk, const Catalog& catalog)
      : cell_(cell_of(kernel, setting, walk, catalog)), catalog_(catalog) {}

  [[nodiscard]] bool have_times(const TilePair& pair) {
    const std::pair tokens{product(pair.q_tile, "q_tile"), product(pair.kv_tile, "kv_tile")};
    const auto [known, is_new] = known_.try_emplace(tokens, false);
    if (!is_new) return known->second;
    cell_.q_tile_tokens = tokens.first;
    cell_.kv_tile_tokens = tokens.second;
    return known->second = std::holds_alternative<KernelCosts>(costs_of_cell(cell_, catalog_));
  }

 private:
  CostCell cell_;
  const Catalog& catalog_;
  std::map<std::pair<std::int64_t, std::int64_t>, bool> known_;
};

/// Whether NATTEN was compiled for the pair on the device; where its rules do not say, whether the layout has its axes.
class CompiledTiles {
 public:
  CompiledTiles(const SearchQuestion& question, const TimedKernel& kernel, Walk walk, const Catalog& catalog)
      : walk_(walk), axes_(question.setting.input.rank()) {
    if (question.any || catalog.natten.empty() || kernel.family != NattenBackend::kCutlassFna) return;
    rules_ = &catalog.natten_release(question.setting.natten).of(kernel.family);
    call_ = dispatch_call(question.setting, catalog.device(*question.setting.device), walk == Walk::kBackward);
  }

  [[nodiscard]] bool have(const BackendTiles& entry) const {
    return call_ ? is_compiled(*rules_, entry, axes_, walk_, *call_) : entry.tiles.q_tile.rank() == axes_;
  }

 private:
  Walk walk_;
  std::size_t axes_;
  const NattenBackendRules* rules_ = nullptr;
  std::optional<NattenCall> call_;
};

/// Of the kernel's own tiles, where they have times; none: it has none, and any of its tiles will do.
std::optional<BlockTokens> tokens_of_kernel(const TimedKernel& kernel, const Setting& setting, Walk walk,
                                            const Catalog& catalog) {
  if (kernel.family == NattenBackend::kFlexFna) return block_tokens(kernel, setting, walk, catalog);
  const auto found = costs_of_cell(cell_of(kernel, setting, walk, catalog), catalog);
  const auto* costs = std::get_if<KernelCosts>(&found);
  if (costs == nullptr) return std::nullopt;
  return BlockTokens{costs->passes.front().q_tile_tokens, costs->passes.front().kv_tile_tokens};
}

/// The shapes of a pass that the question gives; empty: any.
TilePair given_shapes(const SearchQuestion& question, const TimedKernel& kernel, Walk walk) {
  // FlexAttention has the blocks of the forward pass in both.
  const bool forward = walk == Walk::kForward || kernel.family == NattenBackend::kFlexFna;
  return forward ? TilePair{question.q_tile, question.kv_tile}
                 : TilePair{question.backward_q_tile, question.backward_kv_tile};
}

/// FlexAttention's boxes, Q and KV alike where both are open.
std::vector<TilePair> pairs_of_boxes(const TilePair& given, const Extents& input, const BlockTokens& tokens) {
  std::vector<TilePair> pairs;
  const auto boxes = [&](const Extents& shape, std::int64_t of) {
    return shape.empty() ? block_boxes(input, of) : std::vector{shape};
  };
  const bool alike = given.q_tile.empty() && given.kv_tile.empty() && tokens.q == tokens.kv;
  for (const Extents& q_tile : boxes(given.q_tile, tokens.q)) {
    if (product(q_tile, "q_tile") != tokens.q) continue;
    for (const Extents& kv_tile : alike ? std::vector{q_tile} : boxes(given.kv_tile, tokens.kv)) {
      if (product(kv_tile, "kv_tile") == tokens.kv) pairs.push_back({q_tile, kv_tile});
    }
  }
  return pairs;
}

/// The pairs of one pass that a kernel was compiled for and, where it has times, has times for: of every size.
std::vector<TilePair> pairs_of_kernel(const SearchQuestion& question, const TimedKernel& kernel, Walk walk,
                                      const Catalog& catalog) {
  const Setting& setting = question.setting;
  const TilePair given = given_shapes(question, kernel, walk);
  const std::optional<BlockTokens> own = tokens_of_kernel(kernel, setting, walk, catalog);
  if (kernel.family == NattenBackend::kFlexFna && !kernel.in_place) return pairs_of_boxes(given, setting.input, *own);
  const CompiledTiles compiled(question, kernel, walk, catalog);
  TimedSizes sizes(kernel, setting, walk, catalog);
  std::vector<TilePair> pairs;
  for (const Backend& backend : catalog.backends) {
    if (!kernel.in_place && backend.name != to_string(kernel.family)) continue;
    for (const BackendTiles& entry : walk == Walk::kForward ? backend.forward : backend.backward) {
      const TilePair& pair = entry.tiles;
      const bool wanted = (given.q_tile.empty() || pair.q_tile == given.q_tile) &&
                          (given.kv_tile.empty() || pair.kv_tile == given.kv_tile);
      if (!wanted || !compiled.have(entry)) continue;
      if (!kernel.in_place && entry.head_dim && *entry.head_dim != *setting.head_dim) continue;
      if (own && !sizes.have_times(pair)) continue;
      if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
  }
  return pairs;
}

/// Why a pass of the kernel has no tile pair to search.
std::string no_pairs(const SearchQuestion& question, const TimedKernel& kernel, Walk walk, const Catalog& catalog) {
  const TilePair given = given_shapes(question, kernel, walk);
  const std::string pass = walk == Walk::kForward ? "forward" : "backward";
  const Extents& shape = given.q_tile.empty() ? given.kv_tile : given.q_tile;
  if (shape.empty())
    return kernel.name + " has no " + pass + " tiles for layouts of " + std::to_string(question.setting.input.rank()) +
           " axes and head dim " + std::to_string(*question.setting.head_dim);
  const std::optional<BlockTokens> tokens = tokens_of_kernel(kernel, question.setting, walk, catalog);
  std::string text = kernel.name + " has no " + pass + " tiles " + to_string(shape);
  if (tokens && kernel.family != NattenBackend::kCutlassFna)
    text += "; its tiles hold " + std::to_string(tokens->q) + " and " + std::to_string(tokens->kv) + " tokens";
  return text;
}

/// Why a kernel that was named cannot be searched by time; empty: it can.
std::string reason_without(const SearchQuestion& question, const TimedKernel& kernel, const Catalog& catalog) {
  for (const Walk walk : kPasses) {
    if (!has_pass(question.phase, walk)) continue;
    const auto found = costs_of_cell(cell_of(kernel, question.setting, walk, catalog), catalog);
    if (const auto* none = std::get_if<NoCosts>(&found)) {
      if (!none->reason.empty()) return none->reason;
    }
    if (pairs_of_kernel(question, kernel, walk, catalog).empty()) return no_pairs(question, kernel, walk, catalog);
  }
  return "";
}

void require_searchable(const std::string& name, const TimedKernel& kernel, SearchPhase phase) {
  if (kernel.dense)
    throw InvalidParameter("kernel", name, "kernels of neighborhood attention", "hopper-fna");
  if (kernel.in_place && phase != SearchPhase::kForward)
    throw InvalidParameter("kernel", name, "kernels with a backward pass, or the forward phase", "hopper-fna");
}

void add_choices(const SearchQuestion& question, const TimedKernel& kernel, const Catalog& catalog,
                 std::vector<TileChoice>& choices) {
  std::vector<TilePair> forward(1), backward(1);
  for (const Walk walk : kPasses) {
    if (!has_pass(question.phase, walk)) continue;
    std::vector<TilePair>& pairs = walk == Walk::kForward ? forward : backward;
    pairs = pairs_of_kernel(question, kernel, walk, catalog);
    if (pairs.empty())
      throw InvalidParameter("kernel", kernel.name,
                             "kernels with tiles for this layout, head dim and phase: " +
                                 no_pairs(question, kernel, walk, catalog));
  }
  const bool same_blocks = kernel.family == NattenBackend::kFlexFna && question.phase == SearchPhase::kBoth;
  for (const TilePair& first : forward) {
    for (const TilePair& second : backward) {
      if (!same_blocks || first == second)
        choices.push_back({to_string(kernel.family), first, second, kernel.name});
    }
  }
}

}  // namespace

TilesOfKernels tiles_of_kernels(const SearchQuestion& question, const Catalog& catalog) {
  const Setting& setting = question.setting;
  if (!setting.device) throw InvalidParameter("kernel", question.kernels.front(), "a device as well");
  const Device& device = catalog.device(*setting.device);
  std::vector<TimedKernel> kernels;
  TilesOfKernels tiles;
  for (const std::string& name : question.kernels) {
    kernels.push_back(timed_kernel(name, device, catalog));
    require_searchable(name, kernels.back(), question.phase);
    if (std::string reason = reason_without(question, kernels.back(), catalog); !reason.empty())
      tiles.left_out.push_back({kernels.back().name, std::move(reason)});
  }
  if (tiles.left_out.size() == kernels.size()) tiles.left_out.clear();
  const std::vector<std::string> order = timed_kernels();
  const auto place = [&](const TimedKernel& kernel) {
    return std::find(order.begin(), order.end(), kernel.name) - order.begin();
  };
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const TimedKernel& a, const TimedKernel& b) { return place(a) < place(b); });
  for (const TimedKernel& kernel : kernels) {
    const bool left_out = std::any_of(tiles.left_out.begin(), tiles.left_out.end(),
                                      [&](const LeftOutKernel& each) { return each.kernel == kernel.name; });
    if (!left_out) add_choices(question, kernel, catalog, tiles.choices);
  }
  return tiles;
}

}  // namespace natten_sim::study
