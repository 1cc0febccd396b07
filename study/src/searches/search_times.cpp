#include "searches/search_times.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "count_time.hpp"
#include "flex_blocks.hpp"
#include "searches/search_space.hpp"
#include "timed_kernel.hpp"
#include "timed_launch.hpp"

namespace natten_sim::study {
namespace {

constexpr std::array<Walk, 2> kWalks = {Walk::kForward, Walk::kBackward};

const std::string& kernel_of_choice(const TileChoice& choice) {
  return choice.kernel.empty() ? choice.backend : choice.kernel;
}

TimeQuestion question_of(const SearchQuestion& question, const TileChoice& choice,
                         const NeighborhoodMask& mask, Walk walk) {
  const Setting& setting = question.setting;
  TimeQuestion timed =
      time_question(setting, mask, walk == Walk::kForward ? choice.tiles : choice.backward_tiles, walk,
                    question.kernel_schedule);
  timed.kernel = kernel_of_choice(choice);
  timed.rest_ms = question.rest_ms;
  return timed;
}

/// One pass of a tile choice under every mask, as time() has it. Choices share passes, and callers ask for a mask again.
class MaskTimes {
 public:
  MaskTimes(TimeQuestion question, TimeFrame frame) : question_(std::move(question)), frame_(std::move(frame)) {
    const TimedPass first = pass();
    least_tail_ = first.least_tail;
    least_added_ms_ = first.added_ms;
  }

  [[nodiscard]] bool is_of(const TimeQuestion& question) const {
    return question.pass == question_.pass && question.kernel == question_.kernel &&
           question.tiles.q_tile == question_.tiles.q_tile && question.tiles.kv_tile == question_.tiles.kv_tile;
  }
  [[nodiscard]] TimedPass pass() const {
    TimedPass pass{.walk = question_.pass,
                   .family = frame_.family,
                   .costs = frame_.costs,
                   .repeats = repeats_,
                   .workers = frame_.workers,
                   .most_simulated = static_cast<double>(kMostSimulated),
                   .added_ms = frame_.added_ms};
    if (frame_.family != NattenBackend::kCutlassFna) return pass;
    // Pairs that are checked for bounds count as unmasked ones there, and may take less by a fit.
    const double least_us = std::min(pass.costs.bounds_masked_tile_us, pass.costs.masked_tile_us[question_.mask.rank() - 1]);
    pass.costs.unmasked_tile_us = std::min(pass.costs.unmasked_tile_us, least_us);
    // Waves and what is zeroed first depend on the layout; unlike CTAs only make more of them.
    CtaSpread spread = spread_of(question_, frame_.workers / frame_.costs.ctas_per_sm);
    spread.longest = spread.last = 1;
    pass.least_tail = shared_waves(spread, frame_.costs.ctas_per_sm, frame_.costs.lone_share, frame_.costs.step_jitter) *
                      static_cast<double>(frame_.workers) / spread.ctas;
    if (frame_.costs.prepared_bytes_per_s > 0) pass.added_ms += 1e3 * spread.prepared_bytes / frame_.costs.prepared_bytes_per_s;
    return pass;
  }
  [[nodiscard]] double dense_ms() const { return frame_.dense_ms.value(); }

  [[nodiscard]] double ms(const NeighborhoodMask& mask, const Context& context) {
    std::pair key{window_of(mask), stride_of(mask)};
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    TimeQuestion question = question_;
    question.mask = mask;
    const double ms = launch_time(work_of(question, frame_.costs, context), frame_.costs).total_ms + frame_.added_ms;
    const std::lock_guard lock(mutex_);
    known_.emplace(std::move(key), ms);
    return ms;
  }

  void add_kernel_ms(const NeighborhoodMask& mask, const Context& context, std::vector<double>& ms) const {
    TimeQuestion question = question_;
    question.mask = mask;
    const std::vector<LaunchWork> works = works_of_heads(question, frame_.costs, context);
    ms.resize(works.size(), 0.0);
    for (std::size_t heads = 0; heads < works.size(); ++heads) ms[heads] += launch_time(works[heads], frame_.costs).total_ms;
  }

  [[nodiscard]] LeastTime least(const NeighborhoodMask& mask) const {
    NattenProblem problem{.mask = mask, .backend = frame_.family, .tiles = question_.tiles};
    problem.pass = question_.pass;
    problem.kernel_alone = true;
    LaunchWork work = launch_work(natten_visits(problem).attention, mask.rank(), repeats_, frame_.workers);
    work.waves = work.ctas / static_cast<double>(work.workers) * least_tail_;
    const LaunchTime time = launch_time(work, frame_.costs);
    return {time.total_ms * (1 - kRounding) + least_added_ms_,
            (time.tiles_ms + time.masking_ms + time.prologue_ms) / static_cast<double>(question_.sizes.heads)};
  }

 private:
  static constexpr double kRounding = 1e-9;  // of sums in another order

  TimeQuestion question_;
  TimeFrame frame_;
  double least_tail_ = 1, least_added_ms_ = 0;
  std::int64_t repeats_ = checked_multiply(question_.sizes.batch, question_.sizes.heads, "heads");
  std::mutex mutex_;
  std::map<std::pair<Extents, Extents>, double> known_;  // of windows and strides
};

}  // namespace

double SearchTimes::added_ms(std::size_t choice) const {
  double ms = 0;
  for (const TimedPass& pass : objective.choices[choice].passes) ms += pass.added_ms;
  return ms;
}

void SearchTimes::require_speedup(const std::optional<double>& min_speedup) {
  for (std::size_t i = 0; i < dense_ms.size(); ++i)
    objective.choices[i].most_ms = min_speedup ? dense_ms[i] / *min_speedup : 0;
}

std::variant<SearchTimes, MissingTime> search_times(const SearchQuestion& question, const SearchSpace& space,
                                                    const Context& context) {
  if (!question.setting.device) return MissingTime{"a time needs a device, such as h200"};
  SearchTimes times;
  const NeighborhoodMask whole =
      make_mask(space.input, Extents(space.input.rank(), 1), {}, space.dilation, space.causal, space.cyclic);
  std::vector<std::shared_ptr<MaskTimes>> known;
  std::vector<std::vector<std::shared_ptr<MaskTimes>>> of_choices;
  for (const TileChoice& choice : space.tiles) {
    if (choice.backend.empty() && choice.kernel.empty())
      return MissingTime{"tiles of no backend have no kernel, so no time"};
    TimedChoice timed;
    double dense_ms = 0;
    of_choices.emplace_back();
    for (const Walk walk : kWalks) {
      if (!has_pass(space.phase, walk)) continue;
      TimeQuestion asked = question_of(question, choice, whole, walk);
      auto pass = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each->is_of(asked); });
      if (pass == known.end()) {
        const auto found = time_frame(asked, context);
        if (const auto* missing = std::get_if<MissingTime>(&found)) return *missing;
        pass = known.insert(pass, std::make_shared<MaskTimes>(std::move(asked), std::get<TimeFrame>(found)));
      }
      timed.passes.push_back((*pass)->pass());
      if (timed.passes.back().family == NattenBackend::kCutlassFna && product(dilation_of(whole), "dilation") > 1)
        return MissingTime{"cutlass-fna with dilation is not searched by time: its CTAs mix dilation groups"};
      of_choices.back().push_back(*pass);
      dense_ms += (*pass)->dense_ms();
    }
    times.objective.choices.push_back(std::move(timed));
    times.dense_ms.push_back(dense_ms);
  }
  times.least = [of_choices, known](const NeighborhoodMask& mask) {
    std::map<const MaskTimes*, LeastTime> of_passes;
    for (const std::shared_ptr<MaskTimes>& pass : known) of_passes[pass.get()] = pass->least(mask);
    std::vector<LeastTime> least(of_choices.size());
    for (std::size_t choice = 0; choice < of_choices.size(); ++choice) {
      for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) {
        const LeastTime& of_pass = of_passes.at(pass.get());
        least[choice] = {least[choice].ms + of_pass.ms, least[choice].head_ms + of_pass.head_ms};
      }
    }
    return least;
  };
  times.kernel_ms = [of_choices, &context](const NeighborhoodMask& mask, std::size_t choice) {
    std::vector<double> ms;
    for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) pass->add_kernel_ms(mask, context, ms);
    return ms;
  };
  times.objective.exact_ms = [of_choices = std::move(of_choices), &context](const NeighborhoodMask& mask,
                                                                            std::size_t choice) {
    double ms = 0;
    for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) ms += pass->ms(mask, context);
    return ms;
  };
  return times;
}

void add_times(const SearchQuestion& question, const SearchSpace& space, const Context& context,
               SearchCandidate& candidate) {
  double ms = 0, dense_ms = 0;
  for (const Walk walk : kWalks) {
    if (!has_pass(space.phase, walk)) continue;
    const TimeAnswer answer = time(
        question_of(question, candidate.tiles, candidate.counted.problem.mask, walk), context);
    const PassTime& passed = std::get<PassTime>(answer);
    ms += passed.total_ms;
    dense_ms += passed.dense_ms.value();
    (walk == Walk::kForward ? candidate.time : candidate.backward_time) = passed;
  }
  candidate.speedup = dense_ms / ms;
  const std::string& kernel = candidate.tiles.kernel;
  take_predicted(candidate.time ? &*candidate.time : nullptr,
                 candidate.backward_time ? &*candidate.backward_time : nullptr,
                 kernel.empty() ? std::nullopt : std::optional(kernel), candidate.kernel);
}

namespace {

CostCell cell_of(const TimedKernel& kernel, const Setting& setting, Walk walk, const Catalog& catalog) {
  return {.kernel = kernel.name,
          .device = catalog.device(*setting.device).name,
          .head_dim = *setting.head_dim,
          .dtype = setting.dtype.value(),
          .pass = walk,
          .q_tile_tokens = std::nullopt,
          .kv_tile_tokens = std::nullopt};
}

/// Of the sizes that NATTEN runs cutlass-fna with here, the one whose pairs take least a pair of tokens, without a mask.
std::optional<BlockTokens> fastest_tokens(const TimedKernel& kernel, const Setting& setting, Walk walk,
                                          const Catalog& catalog) {
  const Backend& backend = catalog.backend(to_string(kernel.family));
  const Device& device = catalog.device(*setting.device);
  const NattenBackendRules& rules = catalog.natten_release(setting.natten).of(kernel.family);
  const std::optional<NattenCall> call = dispatch_call(setting, device, walk == Walk::kBackward);
  std::optional<BlockTokens> best;
  double least_us = 0;
  for (const BackendTiles& entry : walk == Walk::kForward ? backend.forward : backend.backward) {
    const BlockTokens tokens{product(entry.tiles.q_tile, "q_tile"), product(entry.tiles.kv_tile, "kv_tile")};
    if (call ? !is_compiled(rules, entry, setting.input.rank(), walk, *call)
             : entry.tiles.q_tile.rank() != setting.input.rank())
      continue;
    CostCell cell = cell_of(kernel, setting, walk, catalog);
    cell.q_tile_tokens = tokens.q;
    cell.kv_tile_tokens = tokens.kv;
    const auto found = costs_of_cell(cell, catalog);
    const auto* costs = std::get_if<KernelCosts>(&found);
    if (costs == nullptr) continue;
    const PassCosts pass = on_axes(costs->passes.front(), setting.input.rank());
    const double us = pass.unmasked_tile_us / static_cast<double>(tokens.q * tokens.kv * pass.ctas_per_sm);
    if (best && us >= least_us) continue;
    best = tokens;
    least_us = us;
  }
  return best;
}

/// Of tile pairs that have times; none: NATTEN's kernel has none, and any of its tiles will do.
std::optional<BlockTokens> tokens_of_kernel(const TimedKernel& kernel, const Setting& setting, Walk walk,
                                            const Catalog& catalog) {
  if (kernel.family == NattenBackend::kFlexFna) return block_tokens(kernel, setting, walk, catalog);
  if (kernel.family == NattenBackend::kCutlassFna) return fastest_tokens(kernel, setting, walk, catalog);
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

/// The pairs of one pass that a kernel was compiled for and, where it has been measured, has times for.
std::vector<TilePair> pairs_of_kernel(const SearchQuestion& question, const TimedKernel& kernel, Walk walk,
                                      const Catalog& catalog) {
  const Setting& setting = question.setting;
  const TilePair given = given_shapes(question, kernel, walk);
  const bool any_size = kernel.family == NattenBackend::kCutlassFna && (!given.q_tile.empty() || !given.kv_tile.empty());
  const std::optional<BlockTokens> tokens =
      any_size ? std::nullopt : tokens_of_kernel(kernel, setting, walk, catalog);
  if (kernel.family == NattenBackend::kFlexFna && !kernel.in_place)
    return pairs_of_boxes(given, setting.input, *tokens);
  std::vector<TilePair> pairs;
  for (const Backend& backend : catalog.backends) {
    if (!kernel.in_place && backend.name != to_string(kernel.family)) continue;
    for (const BackendTiles& entry : walk == Walk::kForward ? backend.forward : backend.backward) {
      const TilePair& pair = entry.tiles;
      const bool wanted = (given.q_tile.empty() || pair.q_tile == given.q_tile) &&
                          (given.kv_tile.empty() || pair.kv_tile == given.kv_tile);
      if (pair.q_tile.rank() != setting.input.rank() || !wanted) continue;
      if (!kernel.in_place && entry.head_dim && *entry.head_dim != *setting.head_dim) continue;
      if (tokens &&
          (product(pair.q_tile, "q_tile") != tokens->q || product(pair.kv_tile, "kv_tile") != tokens->kv))
        continue;
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
  if (tokens) text += "; its tiles hold " + std::to_string(tokens->q) + " and " + std::to_string(tokens->kv) + " tokens";
  return text;
}

/// Why a kernel that was named cannot be searched by time; empty: it can.
std::string reason_without(const SearchQuestion& question, const TimedKernel& kernel, const Catalog& catalog) {
  for (const Walk walk : kWalks) {
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
  for (const Walk walk : kWalks) {
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
    kernels.push_back(timed_kernel(name, device));
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
