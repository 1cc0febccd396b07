#include <algorithm>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/study/conclusion/count.hpp>

namespace natten_sim::study {
namespace {

const PassTime* forward_time(const CountAnswer& answer) {
  return answer.time ? std::get_if<PassTime>(&*answer.time) : nullptr;
}

std::optional<double> forward_ms(const CountAnswer& answer) {
  const PassTime* time = forward_time(answer);
  return time == nullptr ? std::nullopt : std::optional(time->total_ms);
}

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

/// Asks variants of one forward pass and keeps the best.
class CountLevers {
 public:
  CountLevers(const CountAnswer& answer, const Context& context, CountConclusion& end)
      : question_(answer.question), context_(context), end_(end), tiles_(answer.forward.problem.tiles) {
    if (const PassTime* time = forward_time(answer)) evidence_ = time->evidence;
    context_.progress = {};
    question_.setting.backend = answer.chosen_backend;
    question_.backward = false;
    question_.backward_q_tile = question_.backward_kv_tile = {};
    question_.backward_q_tiling = std::nullopt;
  }

  void ask_tiles() {
    for (const TilePair& pair : other_pairs()) {
      ++end_.tile_pairs_asked;
      ask(CountLever::kTiles, with_tiles(pair));
    }
  }

  /// With every tile pair.
  void ask_strides() {
    ask_strides_of(question_, tiles_);
    for (const TilePair& pair : other_pairs()) ask_strides_of(with_tiles(pair), pair);
  }

  void ask_window() {
    CountQuestion varied = question_;
    for (std::size_t axis = 0; axis < varied.window.rank(); ++axis) {
      varied.window[axis] = std::max(std::min<std::int64_t>(2, varied.window[axis]), varied.window[axis] / 2);
      varied.stride[axis] = std::min(varied.stride[axis], varied.window[axis]);
    }
    if (varied.window == question_.window) return;
    for (std::size_t axis = 0; axis < varied.window.rank(); ++axis) widen(axis, varied);
    ask(CountLever::kWindow, varied);
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
      if (question.stride != question_.stride) ask(CountLever::kStride, question);
      return;
    }
    CountQuestion varied = question;
    for (const std::int64_t stride :
         strides_of_axis(question_.stride[axis], tiles.q_tile[axis], question.window[axis])) {
      varied.stride[axis] = stride;
      ask_strides_of(varied, tiles, axis + 1);
    }
  }

  /// The widest window on the axis, by up to a KV tile, that costs no more: it keeps more context for nothing.
  void widen(std::size_t axis, CountQuestion& varied) {
    const std::optional<Asked> before = asked(varied);
    if (!before) return;
    CountQuestion wider = varied;
    for (std::int64_t more = 1; more <= tiles_.kv_tile[axis]; ++more) {
      if (++wider.window[axis] >= question_.window[axis]) return;
      const std::optional<Asked> with = asked(wider);
      if (with && with->cost <= before->cost) varied.window[axis] = wider.window[axis];
    }
  }

  struct Asked {
    TilePair tiles;
    double cost = 0;  ///< in the unit of `before`
  };

  /// None: NATTEN refuses it, or there is no time of as good evidence to compare.
  [[nodiscard]] std::optional<Asked> asked(const CountQuestion& varied) {
    const CountAnswer other = count_with_memo(varied, context_, memo_);
    if (other.kernel.refusal) return std::nullopt;
    if (end_.of == CountGain::kPairs) return Asked{other.forward.problem.tiles, multiplied_pairs(other)};
    const PassTime* time = forward_time(other);
    if (time == nullptr || weaker(time->evidence, evidence_)) return std::nullopt;
    return Asked{other.forward.problem.tiles, time->total_ms};
  }

  void ask(CountLever lever, const CountQuestion& varied) {
    const std::optional<Asked> other = asked(varied);
    if (!other) return;
    const double gain = end_.before / other->cost;
    if (gain < kWorthwhile || (end_.change && gain <= end_.change->gain)) return;
    end_.change = CountChange{lever, other->tiles, varied.stride, varied.window, gain, other->cost};
  }

  CountQuestion question_;
  Context context_;
  CountConclusion& end_;
  TilePair tiles_;
  CostEvidence evidence_;
  AxisCountMemo memo_;
};

}  // namespace

CountConclusion conclude(const CountAnswer& answer, const Context& context) {
  CountConclusion end;
  const TileCount& count = answer.forward.count;
  end.busiest_over_mean = count.speedup_mean() / count.speedup_worst();
  end.wasted_share = count.wasted_share();
  const std::optional<double> ms = forward_ms(answer);
  end.of = ms ? CountGain::kTime : CountGain::kPairs;
  end.before = ms ? *ms : multiplied_pairs(answer);
  const TilingProblem& problem = answer.forward.problem;
  if (answer.kernel.refusal || problem.tiling == Tiling::kSingleDimensional || problem.mask.rank() > 3)
    return end;
  CountLevers levers(answer, context, end);
  levers.ask_tiles();
  if (!end.change) levers.ask_strides();
  if (!end.change) levers.ask_window();
  return end;
}

}  // namespace natten_sim::study
