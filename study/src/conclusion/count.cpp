#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/study/conclusion/count.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/search.hpp>

#include "../dense_sequence.hpp"

namespace natten_sim::study {
namespace {

/// Null: the pass has none.
const PassTime* time_of(const std::optional<TimeAnswer>& time) {
  return time ? std::get_if<PassTime>(&*time) : nullptr;
}
const PassTime* forward_time(const CountAnswer& answer) { return time_of(answer.time); }
const PassTime* backward_time(const CountAnswer& answer) {
  return answer.backward ? time_of(answer.backward->time) : nullptr;
}

/// Of the passes that count.
std::optional<double> total_ms(const CountAnswer& answer) {
  const PassTime *forward = forward_time(answer), *backward = backward_time(answer);
  if (forward == nullptr) return std::nullopt;
  return forward->total_ms + (backward != nullptr ? backward->total_ms : 0);
}

constexpr std::size_t kMostStrides = 8;  // that are asked with a backward pass too

/// Whether `other` rests on less than `time`: a gain of such a time may be nothing but its error.
bool weaker(const CostEvidence& other, const CostEvidence& time) {
  return other.origin > time.origin || (other.origin == time.origin && other.interval > time.interval);
}

double multiplied_pairs(const CountAnswer& answer) {
  const std::optional<KernelPass>& pass = answer.kernel.forward;
  return static_cast<double>(pass ? pass->attention.mma_pairs : answer.forward.count.mma_pairs);
}

std::int64_t volume(const Extents& tile) {
  std::int64_t tokens = 1;
  for (std::size_t axis = 0; axis < tile.rank(); ++axis) tokens *= tile[axis];
  return tokens;
}

/// Asks variants of the forward pass, each with the fastest backward pass if that counts, and keeps the best.
class CountLevers {
 public:
  CountLevers(const CountAnswer& answer, const Context& context, CountConclusion& end)
      : question_(answer.question), context_(context), end_(end), tiles_(answer.forward.problem.tiles),
        attended_(answer.forward.count.attended_pairs) {
    if (const PassTime* time = forward_time(answer)) evidence_ = time->evidence;
    const PassTime* const backward = backward_time(answer);
    if (end.of == CountGain::kTime && backward != nullptr) backward_evidence_ = backward->evidence;
    context_.progress = {};
    question_.setting.backend = answer.chosen_backend;
    question_.backward = false;
    question_.backward_q_tile = question_.backward_kv_tile = {};
    question_.backward_q_tiling = std::nullopt;
  }

  void ask_tiles() {
    if (backward_evidence_) {
      backward_tried_ = backward_pairs();
      ask(CountLever::kTiles, question_);
    }
    for (const TilePair& pair : other_pairs()) {
      ++end_.tile_pairs_asked;
      ask(CountLever::kTiles, with_tiles(pair));
    }
  }

  /// With every tile pair of the forward pass; those with which that is fastest are asked with the backward pass too.
  void ask_strides() {
    keep_backward_tiles();
    ask_strides_of(question_, tiles_);
    for (const TilePair& pair : other_pairs()) ask_strides_of(with_tiles(pair), pair);
    std::stable_sort(strides_.begin(), strides_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (strides_.size() > kMostStrides) strides_.resize(kMostStrides);
    for (const auto& [ms, varied] : strides_) ask(CountLever::kStride, varied);
    ask_again();
  }

  void ask_window() {
    keep_backward_tiles();
    CountQuestion varied = question_;
    for (std::size_t axis = 0; axis < varied.window.rank(); ++axis) {
      varied.window[axis] = std::max(std::min<std::int64_t>(2, varied.window[axis]), varied.window[axis] / 2);
      varied.stride[axis] = std::min(varied.stride[axis], varied.window[axis]);
    }
    if (varied.window == question_.window) return;
    for (std::size_t axis = 0; axis < varied.window.rank(); ++axis) widen(axis, varied);
    ask(CountLever::kWindow, varied);
    ask_again();
    if (end_.change && can_search()) take_fastest_around();
  }

 private:
  /// Pairs that hold another number of tokens are compared by time alone.
  [[nodiscard]] std::vector<TilePair> other_pairs() const {
    if (question_.kernel && !natten_runs(*question_.kernel)) return other_blocks();
    const Backend& backend = effective_backend(question_.setting, context_.catalog);
    std::vector<TilePair> pairs = natten_sim::tile_pairs(backend, question_.setting.input.rank(),
                                                         *question_.setting.head_dim, Walk::kForward);
    std::erase_if(pairs, [&](const TilePair& pair) {
      return pair == tiles_ || (end_.of == CountGain::kPairs && volume(pair.q_tile) != volume(tiles_.q_tile));
    });
    return pairs;
  }

  /// FlexAttention's blocks may have any shape: the one that count() takes if none is given.
  [[nodiscard]] std::vector<TilePair> other_blocks() const {
    CountQuestion open = question_;
    open.q_tile = open.kv_tile = {};
    const TilePair best = count(open, context_).forward.problem.tiles;
    return best == tiles_ ? std::vector<TilePair>{} : std::vector{best};
  }

  [[nodiscard]] CountQuestion with_tiles(const TilePair& pair) const {
    CountQuestion varied = question_;
    varied.q_tile = pair.q_tile;
    varied.kv_tile = pair.kv_tile;
    return varied;
  }

  /// Strides of an axis to try: what there is, one and two Q tiles (windows of an odd number of KV tiles are
  /// cut at tiles by the one, others by the other), and the next of whole Q tiles.
  [[nodiscard]] static std::vector<std::int64_t> strides_of_axis(std::int64_t stride, std::int64_t tile,
                                                                 std::int64_t window) {
    std::vector<std::int64_t> strides = {stride, tile, 2 * tile, ceil_divide(stride, tile) * tile};
    for (std::int64_t& each : strides) each = std::min(each, window);
    std::sort(strides.begin(), strides.end());
    strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
    return strides;
  }

  void ask_strides_of(const CountQuestion& question, const TilePair& tiles, std::size_t axis = 0) {
    if (axis == question.stride.rank()) {
      if (question.stride == question_.stride) return;
      if (!backward_evidence_) return ask(CountLever::kStride, question);
      if (const auto found = forward_asked(question)) strides_.emplace_back(found->cost, question);
      return;
    }
    CountQuestion varied = question;
    for (const std::int64_t stride :
         strides_of_axis(question_.stride[axis], tiles.q_tile[axis], question.window[axis])) {
      varied.stride[axis] = stride;
      ask_strides_of(varied, tiles, axis + 1);
    }
  }

  /// The widest window on the axis that costs no more, below the question's own: it keeps more context for nothing.
  void widen(std::size_t axis, CountQuestion& varied) {
    const std::optional<Asked> before = asked(varied);
    if (!before) return;
    CountQuestion wider = varied;
    const auto costs_more = [&](std::int64_t window) {
      wider.window[axis] = window;
      const std::optional<Asked> with = asked(wider);
      return !with || with->cost > before->cost * (1 + kEqualTimes);
    };
    if (end_.of == CountGain::kPairs) {  // which only grow with the window
      std::int64_t widest = varied.window[axis], beyond = std::max(widest + 1, question_.window[axis]);
      while (beyond - widest > 1) {
        const std::int64_t middle = widest + (beyond - widest) / 2;
        (costs_more(middle) ? beyond : widest) = middle;
      }
      varied.window[axis] = widest;
      return;
    }
    const std::int64_t last = std::min(varied.window[axis] + tiles_.kv_tile[axis], question_.window[axis] - 1);
    for (std::int64_t window = varied.window[axis] + 1; window <= last; ++window) {
      if (!costs_more(window)) varied.window[axis] = window;
    }
  }

  /// Whether search() times what count() is asked here.
  [[nodiscard]] bool can_search() const {
    const bool dilated = std::any_of(question_.dilation.begin(), question_.dilation.end(), [](auto each) { return each > 1; });
    return end_.of == CountGain::kTime && question_.setting.device && !question_.mask_function && !question_.mask_cost &&
           !question_.kv_tiling && !asks_cycle(question_.cyclic) && !dilated;
  }

  /// In place of the change's window the fastest of those that contain it and attend to less than the question's, with
  /// its stride and tiles; of equal ones that with most context.
  void take_fastest_around() {
    const CountChange change = *end_.change;
    SearchQuestion asked;
    asked.setting = question_.setting;
    asked.stride = change.stride;
    asked.causal = question_.causal;
    asked.kernel_schedule = question_.kernel_schedule;
    asked.rest_ms = question_.rest_ms;
    for (std::size_t axis = 0; axis < change.window.rank(); ++axis)
      asked.window_range.push_back({change.window[axis], question_.setting.input[axis]});
    asked.tiles = {{effective_backend(question_.setting, context_.catalog).name, change.tiles,
                    change.backward_tiles.value_or(TilePair{}), question_.kernel.value_or("")}};
    if (change.backward_tiles) asked.phase = SearchPhase::kBoth;
    asked.constraints.most_attended = attended_ - 1;
    asked.distinct = Distinct::kWindow;
    asked.top = 1;
    const SearchAnswer found = search(asked, context_);
    if (found.question.objective != Objective::kTime || found.candidates.empty()) return;
    CountQuestion varied = with_tiles(change.tiles);
    varied.stride = change.stride;
    varied.window = window_of(found.candidates.front().counted.problem.mask);
    if (change.backward_tiles) backward_tried_ = {*change.backward_tiles};
    backward_.clear();
    end_.change.reset();
    ask(CountLever::kWindow, varied);
    if (!end_.change || end_.change->gain < change.gain * (1 - kEqualTimes)) end_.change = change;
  }

  struct Asked {
    TilePair tiles;
    double cost = 0;  ///< in the unit of `before`
    std::optional<TilePair> backward_tiles = {};
  };

  [[nodiscard]] bool of_natten() const { return !question_.kernel || natten_runs(*question_.kernel); }

  /// Variants keep the pair that is fastest now, until a change is found.
  void keep_backward_tiles() {
    if (!backward_evidence_) return;
    const std::optional<Asked> own = fastest_backward(question_);
    if (own) backward_tried_ = {*own->backward_tiles};
    backward_.clear();
  }

  /// The change with every tile pair of the backward pass.
  void ask_again() {
    if (!backward_evidence_ || !end_.change) return;
    backward_tried_ = backward_pairs();
    backward_.clear();
    CountQuestion varied = with_tiles(end_.change->tiles);
    varied.stride = end_.change->stride;
    varied.window = end_.change->window;
    ask(end_.change->lever, varied);
  }

  /// Blocks of FlexAttention are those of the forward pass.
  [[nodiscard]] std::vector<TilePair> backward_pairs() const {
    if (!of_natten()) return {TilePair{}};
    const Backend& backend = effective_backend(question_.setting, context_.catalog);
    std::vector<TilePair> pairs = natten_sim::tile_pairs(backend, question_.setting.input.rank(),
                                                         *question_.setting.head_dim, Walk::kBackward);
    return pairs.empty() ? std::vector{TilePair{}} : pairs;
  }

  /// The fastest backward pass of a window and stride; none: NATTEN refuses all, or they rest on less.
  [[nodiscard]] std::optional<Asked> fastest_backward(CountQuestion varied) {
    const std::array<Extents, 3> key{varied.window, varied.stride, of_natten() ? Extents{} : varied.q_tile};
    if (const auto known = backward_.find(key); known != backward_.end()) return known->second;
    std::optional<Asked> best;
    varied.backward = true;
    for (const TilePair& pair : backward_tried_) {
      varied.backward_q_tile = pair.q_tile;
      varied.backward_kv_tile = pair.kv_tile;
      const CountAnswer other = count_with_memo(varied, context_, memo_);
      const PassTime* const time = backward_time(other);
      if (other.kernel.refusal || time == nullptr || weaker(time->evidence, *backward_evidence_)) continue;
      if (!best || time->total_ms < best->cost) best = Asked{{}, time->total_ms, other.backward->problem.tiles};
    }
    return backward_.emplace(key, best).first->second;
  }

  /// None: NATTEN refuses it, or there is no time of as good evidence to compare.
  [[nodiscard]] std::optional<Asked> forward_asked(const CountQuestion& varied) {
    const CountAnswer other = count_with_memo(varied, context_, memo_);
    if (other.kernel.refusal) return std::nullopt;
    if (end_.of == CountGain::kPairs) return Asked{other.forward.problem.tiles, multiplied_pairs(other)};
    const PassTime* time = forward_time(other);
    if (time == nullptr || weaker(time->evidence, evidence_)) return std::nullopt;
    return Asked{other.forward.problem.tiles, time->total_ms};
  }

  /// Of all passes that count.
  [[nodiscard]] std::optional<Asked> asked(const CountQuestion& varied) {
    std::optional<Asked> found = forward_asked(varied);
    if (!found || !backward_evidence_) return found;
    const std::optional<Asked> backward = fastest_backward(varied);
    if (!backward) return std::nullopt;
    found->cost += backward->cost;
    found->backward_tiles = backward->backward_tiles;
    return found;
  }

  void ask(CountLever lever, const CountQuestion& varied) {
    const std::optional<Asked> other = asked(varied);
    if (!other) return;
    const double gain = end_.before / other->cost;
    if (gain < kWorthwhile || (end_.change && gain <= end_.change->gain)) return;
    end_.change = CountChange{lever, other->tiles, other->backward_tiles, varied.stride, varied.window, gain, other->cost};
  }

  CountQuestion question_;
  Context context_;
  CountConclusion& end_;
  TilePair tiles_;
  std::int64_t attended_ = 0;  ///< pairs, by the question's window
  CostEvidence evidence_;
  std::optional<CostEvidence> backward_evidence_;  ///< none: the backward pass does not count
  std::vector<TilePair> backward_tried_;
  std::vector<std::pair<double, CountQuestion>> strides_;  // by the forward pass, where the backward pass counts too
  std::map<std::array<Extents, 3>, std::optional<Asked>> backward_;  // by window, stride and FlexAttention's Q tile
  AxisCountMemo memo_;
};

/// The other order of tokens of several axes, for a kernel that NATTEN does not run: none: it is not worthwhile.
std::optional<CountChange> other_order(const CountAnswer& answer, const Context& context, const CountConclusion& end) {
  const CountQuestion& asked = answer.question;
  if (!asked.kernel || natten_runs(*asked.kernel) || end.of != CountGain::kTime || asked.setting.input.rank() < 2 ||
      asks_cycle(asked.cyclic))
    return std::nullopt;
  CountQuestion other = asked;
  other.setting.backend = answer.chosen_backend;
  other.q_tile = other.kv_tile = other.backward_q_tile = other.backward_kv_tile = {};
  other.tiling = asked.tiling == Tiling::kSingleDimensional ? Tiling::kMultiDimensional : Tiling::kSingleDimensional;
  Context quiet = context;
  quiet.progress = {};
  const CountAnswer found = count(other, quiet);
  const std::optional<double> ms = total_ms(found);
  if (!ms || end.before / *ms < kWorthwhile) return std::nullopt;
  CountChange change{CountLever::kOrder, found.forward.problem.tiles, std::nullopt, asked.stride, asked.window};
  change.tiling = other.tiling;
  change.gain = end.before / *ms;
  change.after = *ms;
  return change;
}

}  // namespace

CountConclusion conclude(const CountAnswer& answer, const Context& given) {
  const WithKernels kernels(given, answer.question.kernel);
  const Context& context = kernels.get();
  CountConclusion end;
  const TileCount& count = answer.forward.count;
  end.busiest_over_mean = count.speedup_mean() / count.speedup_worst();
  end.wasted_share = count.wasted_share();
  const std::optional<double> ms = total_ms(answer);
  end.of = ms ? CountGain::kTime : CountGain::kPairs;
  end.before = ms ? *ms : multiplied_pairs(answer);
  const TilingProblem& problem = answer.forward.problem;
  if (named_dense_kernel(answer.question, context.catalog)) return end;  // whose mask and tiles are what they are
  end.change = other_order(answer, context, end);
  if (end.change || answer.kernel.refusal || problem.tiling == Tiling::kSingleDimensional || problem.mask.rank() > 3)
    return end;
  CountLevers levers(answer, context, end);
  levers.ask_tiles();
  if (!end.change) levers.ask_strides();
  if (!end.change) levers.ask_window();
  return end;
}

}  // namespace natten_sim::study
