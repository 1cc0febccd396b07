#include "searches/recall_candidates.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>

#include "searches/search_space.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMostWindows = 24;  // of whole KV tiles, along an axis
constexpr std::size_t kMostChoices = 1024;  // of tiles of every size

void require_no(bool given, const char* name) {
  if (given) throw InvalidParameter(name, "true", "false, for a choice by recall");
}

double sparsity_of(const NeighborhoodMask& mask) {
  double kept = 1;
  for (const AxisMask& axis : mask)
    kept *= static_cast<double>(attended_pairs(axis)) / static_cast<double>(axis.length) /
            static_cast<double>(axis.length);
  return 1 - kept;
}

/// What a pair of tokens takes in a pass without a mask, on one of the CTAs of an SM.
double token_pair_us(const TilePair& tiles, const PassCosts& costs) {
  const auto pairs = static_cast<double>(product(tiles.q_tile, "q_tile") * product(tiles.kv_tile, "kv_tile"));
  return costs.unmasked_tile_us / pairs / static_cast<double>(costs.ctas_per_sm);
}

/// Of many choices those whose tiles have, in each pass, the size with which a pair of tokens takes least.
void keep_fastest_sizes(const SearchQuestion& question, const Context& context, SearchSpace& space) {
  const auto found = search_times(question, space, context);
  const auto* times = std::get_if<SearchTimes>(&found);
  if (times == nullptr) return;  // said by whoever needs them
  const auto us_of = [&](std::size_t choice, const TimedPass& pass) {
    const TileChoice& tiles = space.tiles[choice];
    return token_pair_us(pass.walk == Walk::kForward ? tiles.tiles : tiles.backward_tiles, pass.costs);
  };
  std::map<Walk, double> least;
  for (std::size_t choice = 0; choice < space.tiles.size(); ++choice) {
    for (const TimedPass& pass : times->objective.choices[choice].passes) {
      const double us = us_of(choice, pass);
      const auto [known, is_new] = least.emplace(pass.walk, us);
      if (!is_new) known->second = std::min(known->second, us);
    }
  }
  std::vector<TileChoice> kept;
  for (std::size_t choice = 0; choice < space.tiles.size(); ++choice) {
    const auto& passes = times->objective.choices[choice].passes;
    if (std::all_of(passes.begin(), passes.end(), [&](const TimedPass& pass) {
          return us_of(choice, pass) <= least.at(pass.walk) * (1 + 1e-9);
        }))
      kept.push_back(space.tiles[choice]);
  }
  if (!kept.empty()) space.tiles = std::move(kept);
}

/// Whether NATTEN masks no tile, in any pass.
bool on_fast_path(const SearchSpace& space, const NeighborhoodMask& mask, std::size_t choice) {
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    if (!has_pass(space.phase, walk)) continue;
    if (!natten_fast_path(problem_of(space, mask, space.tiles[choice], walk))) return false;
  }
  return true;
}

/// Masks of a space that are worth a time.
class Enumeration {
 public:
  Enumeration(const SearchConstraints& constraints, const SearchSpace& space) : constraints_(constraints), space_(space) {}

  std::vector<NeighborhoodMask> masks() {
    for (choice_ = 0; choice_ < space_.tiles.size(); ++choice_) add_windows({});
    return std::move(masks_);
  }

 private:
  [[nodiscard]] const TilePair& tiles() const {
    const TileChoice& choice = space_.tiles[choice_];
    return has_pass(space_.phase, Walk::kForward) ? choice.tiles : choice.backward_tiles;
  }

  /// Whole KV tiles, evenly spaced, and the whole axis, as far as the range has them.
  [[nodiscard]] std::vector<std::int64_t> windows_of(std::size_t axis) const {
    const auto [lo, hi] = space_.window[axis];
    const std::int64_t tile = tiles().kv_tile[axis], whole = space_.input[axis] / space_.dilation[axis];
    std::vector<std::int64_t> windows;
    if (lo == hi) return {lo};
    const std::int64_t step = ceil_divide(std::max<std::int64_t>(1, whole / tile), kMostWindows) * tile;
    for (std::int64_t window = step; window <= std::min(hi, whole); window += step) {
      if (window >= lo) windows.push_back(window);
    }
    if (hi >= whole && (windows.empty() || windows.back() != whole)) windows.push_back(whole);
    return windows;
  }

  void add_windows(Extents window) {
    const std::size_t axis = window.rank();
    if (axis == space_.input.rank()) return add_strides(window);
    for (const std::int64_t size : windows_of(axis)) {
      Extents longer = window;
      longer.push_back(size);
      add_windows(longer);
    }
  }

  [[nodiscard]] bool balanced(const Extents& window) const {
    double least = 1e300, most = 0;
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      const double ratio = static_cast<double>(space_.input[axis]) / static_cast<double>(window[axis]);
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    }
    return !constraints_.max_imbalance || most <= *constraints_.max_imbalance * least;
  }

  void add_strides(const Extents& window) {
    poll_now();
    if (window == space_.input || !balanced(window)) return;  // dense attention has a kernel of its own
    add(window, strides_of(window, 0));
    add(window, strides_of(window, 1));
    for (int doubled = 0; doubled < 1 << window.rank(); ++doubled) {
      Extents stride;
      for (std::size_t axis = 0; axis < window.rank(); ++axis)
        stride.push_back(strides_of(window, (doubled >> axis & 1) + 1)[axis]);
      if (!on_fast_path(space_, mask_of(window, stride), choice_)) continue;
      add(window, stride);
      break;
    }
  }

  /// Of whole Q tiles; 0: of a token. As near as the range has them.
  [[nodiscard]] Extents strides_of(const Extents& window, std::int64_t q_tiles) const {
    Extents stride;
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      const auto [lo, hi] = space_.stride[axis];
      const std::int64_t wish = q_tiles == 0 ? 1 : q_tiles * tiles().q_tile[axis];
      stride.push_back(std::min({std::max(wish, lo), hi, window[axis]}));
    }
    return stride;
  }

  [[nodiscard]] NeighborhoodMask mask_of(const Extents& window, const Extents& stride) const {
    return make_mask(space_.input, window, stride, space_.dilation, space_.causal, space_.cyclic);
  }

  void add(const Extents& window, const Extents& stride) {
    const NeighborhoodMask mask = mask_of(window, stride);
    if (constraints_.natten_fast_path && !on_fast_path(space_, mask, choice_)) return;
    if (constraints_.sparsity) {
      const double sparsity = sparsity_of(mask);
      if (sparsity < constraints_.sparsity->lo - 1e-12 || sparsity > constraints_.sparsity->hi + 1e-12) return;
    }
    if (known_.emplace(window, stride).second) masks_.push_back(mask);
  }

  const SearchConstraints& constraints_;
  const SearchSpace& space_;
  std::size_t choice_ = 0;
  std::set<std::pair<Extents, Extents>> known_;  // windows and strides
  std::vector<NeighborhoodMask> masks_;
};

}  // namespace

RecallCandidates::RecallCandidates(SearchQuestion& question, const Context& context) : context_(context) {
  require_no(question.constraints.fully_block_sparse, "fully_block_sparse");
  require_no(question.constraints.no_padding, "no_padding");
  require_no(question.constraints.min_speedup.has_value(), "min_speedup");
  require_no(asks_cycle(question.cyclic), "cyclic");
  SearchAnswer answer{.question = question};
  answer.question.objective = Objective::kTime;
  space_ = space_of(context.catalog, answer);
  (void)leave_out_refused(answer.question, context, space_);
  answer.question.constraints = question.constraints;  // as asked: the data judge shapes
  question_ = question = answer.question;
  if (space_.tiles.size() > kMostChoices) keep_fastest_sizes(question_, context, space_);
  question_.tiles = question.tiles = space_.tiles;
  auto times = search_times(question_, space_, context);
  if (const auto* missing = std::get_if<MissingTime>(&times))
    throw InvalidParameter("recall", "no time", "a time for every tile choice: " + missing->sentence);
  times_.emplace(std::pair{*question.setting.heads, *question.setting.heads_kv}, std::get<SearchTimes>(std::move(times)));
  add_masks();
  add_dense();
  if (masks_.empty())
    throw InvalidParameter("window_range", "no window", "ranges and constraints that a window meets");
}

void RecallCandidates::add_masks() {
  masks_ = Enumeration(question_.constraints, space_).masks();
  // Of masks that take and keep the same, such as those whose window covers the axis of a stride, heads have the first.
  std::stable_sort(masks_.begin(), masks_.end(), [](const NeighborhoodMask& a, const NeighborhoodMask& b) {
    return product(stride_of(a), "stride") < product(stride_of(b), "stride");
  });
  for (const NeighborhoodMask& mask : masks_) {
    poll_now();
    LeastTime least = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    for (const auto& [of_choice, choice] : choices_of(mask))
      least = {std::min(least.ms, of_choice.ms), std::min(least.head_ms, of_choice.head_ms)};
    least_.push_back(least);
  }
}

void RecallCandidates::add_dense() {
  const std::optional<SparsityRange>& sparsity = question_.constraints.sparsity;
  has_dense_ = (!sparsity || sparsity->lo == 0) && !refused_dense_window(question_, context_, space_) &&
               std::equal(space_.input.begin(), space_.input.end(), space_.window.begin(),
                          [](std::int64_t length, const IntRange& range) { return range.hi >= length; });
  if (!has_dense_) return;
  masks_.push_back(make_mask(space_.input, space_.input, {}, {}, space_.causal));
  least_.push_back({times_of_all().dense_ms.front(), 0});
}

SearchTimes& RecallCandidates::times_of(std::int64_t heads, std::int64_t heads_kv) {
  const auto known = times_.find({heads, heads_kv});
  if (known != times_.end()) return known->second;
  SearchQuestion question = question_;
  question.setting.heads = heads;
  question.setting.heads_kv = heads_kv;
  const auto times = search_times(question, space_, context_);
  return times_.emplace(std::pair{heads, heads_kv}, std::get<SearchTimes>(times)).first->second;
}

const std::vector<double>& RecallCandidates::kernel_ms(std::size_t candidate, std::size_t choice) {
  const auto [known, is_new] = kernel_ms_.try_emplace({candidate, choice});
  if (is_new) known->second = times_of_all().kernel_ms(masks_[candidate], choice);
  return known->second;
}

std::vector<std::pair<LeastTime, std::size_t>> RecallCandidates::choices_of(const NeighborhoodMask& mask) {
  const std::vector<LeastTime> least = times_of_all().least(mask);
  std::vector<std::pair<LeastTime, std::size_t>> choices;
  for (std::size_t choice = 0; choice < least.size(); ++choice) {
    if (question_.constraints.natten_fast_path && !on_fast_path(space_, mask, choice)) continue;
    choices.emplace_back(least[choice], choice);
  }
  return choices;
}

std::size_t RecallCandidates::choice_of(std::size_t candidate) {
  const auto [place, is_new] = fastest_.try_emplace(candidate, 0);
  if (!is_new || is_dense(candidate)) return place->second;
  auto choices = choices_of(masks_[candidate]);
  std::stable_sort(choices.begin(), choices.end(),
                   [](const auto& a, const auto& b) { return a.first.ms < b.first.ms; });
  std::pair<double, std::size_t> fastest{std::numeric_limits<double>::max(), 0};
  for (const auto& [least, choice] : choices) {
    if (least.ms > fastest.first) break;
    fastest = std::min(fastest, {kernel_ms(candidate, choice).back() + times_of_all().added_ms[choice], choice});
  }
  return place->second = fastest.second;
}

double RecallCandidates::ms(std::size_t candidate, std::int64_t heads, std::int64_t heads_kv) {
  const SearchTimes& times = times_of(heads, heads_kv);
  if (is_dense(candidate)) return times.dense_ms.front();
  const std::size_t choice = choice_of(candidate);
  return kernel_ms(candidate, choice)[static_cast<std::size_t>(heads) - 1] + times.added_ms[choice];
}

RecallCandidate RecallCandidates::at(std::size_t candidate) {
  return {masks_[candidate], space_.tiles[choice_of(candidate)], is_dense(candidate)};
}

SearchQuestion question_of(const SearchQuestion& question, const RecallCandidate& candidate) {
  SearchQuestion one = question;
  one.window = window_of(candidate.mask);
  one.stride = stride_of(candidate.mask);
  one.window_range = one.stride_range = {};
  one.stride_max = one.q_tile = one.kv_tile = one.backward_q_tile = one.backward_kv_tile = {};
  one.kernels = {};
  one.tiles = {candidate.tiles};
  one.dense_axes = {};
  one.constraints = {};
  one.recall = {};
  one.objective = Objective::kTime;
  one.kind = SearchKind::kBest;
  one.distinct = Distinct::kWindow;
  one.top = 1;
  return one;
}

}  // namespace natten_sim::study
