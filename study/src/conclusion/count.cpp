#include <algorithm>
#include <utility>
#include <vector>

#include <natten_sim/study/conclusion/count.hpp>

namespace natten_sim::study {
namespace {

std::optional<double> forward_ms(const CountAnswer& answer) {
  const auto* time = answer.time ? std::get_if<PassTime>(&*answer.time) : nullptr;
  return time == nullptr ? std::nullopt : std::optional(time->total_ms);
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
    context_.progress = {};
    question_.setting.backend = answer.chosen_backend;
    question_.backward = false;
    question_.backward_q_tile = question_.backward_kv_tile = {};
    question_.backward_q_tiling = std::nullopt;
  }

  void ask_tiles() {
    const Backend& backend = effective_backend(question_.setting, context_.catalog);
    const std::size_t rank = question_.setting.input.rank();
    for (const TilePair& pair :
         natten_sim::tile_pairs(backend, rank, *question_.setting.head_dim, Walk::kForward)) {
      if (pair == tiles_) continue;
      if (end_.of == CountGain::kPairs && volume(pair.q_tile) != volume(tiles_.q_tile)) continue;
      CountQuestion varied = question_;
      varied.q_tile = pair.q_tile;
      varied.kv_tile = pair.kv_tile;
      ++end_.tile_pairs_asked;
      ask(CountLever::kTiles, varied);
    }
  }

  /// On each axis the stride that there is, or a whole Q tile.
  void ask_strides() {
    const std::size_t rank = question_.stride.rank();
    for (unsigned choice = 1; choice < (1U << rank); ++choice) {
      CountQuestion varied = question_;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if ((choice >> axis & 1U) != 0)
          varied.stride[axis] =
              std::clamp(tiles_.q_tile[axis], question_.stride[axis], question_.window[axis]);
      }
      if (varied.stride != question_.stride) ask(CountLever::kStride, varied);
    }
  }

  void ask_window() {
    CountQuestion varied = question_;
    for (std::size_t axis = 0; axis < varied.window.rank(); ++axis) {
      varied.window[axis] = std::max(std::min<std::int64_t>(2, varied.window[axis]), varied.window[axis] / 2);
      varied.stride[axis] = std::min(varied.stride[axis], varied.window[axis]);
    }
    if (varied.window != question_.window) ask(CountLever::kWindow, varied);
  }

 private:
  void ask(CountLever lever, const CountQuestion& varied) {
    const CountAnswer other = count_with_memo(varied, context_, memo_);
    if (other.kernel.refusal) return;
    const std::optional<double> ms = forward_ms(other);
    if (end_.of == CountGain::kTime && !ms) return;
    const double after = end_.of == CountGain::kTime ? *ms : multiplied_pairs(other);
    const double gain = end_.before / after;
    if (gain < kWorthwhile || (end_.change && gain <= end_.change->gain)) return;
    end_.change = CountChange{lever, other.forward.problem.tiles, varied.stride, varied.window, gain, after};
  }

  CountQuestion question_;
  Context context_;
  CountConclusion& end_;
  TilePair tiles_;
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
