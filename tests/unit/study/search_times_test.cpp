// Search by time held against the times of every window, stride and pair of tiles.
#include "searches/search_times.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace search_times_test {

using namespace natten_sim;
using natten_sim::test::shared_context;

/// Windows, or strides up to a window, of all axes.
std::vector<Extents> combinations(const PerAxis<IntRange>& ranges, const Extents* most = nullptr) {
  std::vector<Extents> all = {{}};
  for (std::size_t axis = 0; axis < ranges.rank(); ++axis) {
    std::vector<Extents> longer;
    for (const Extents& each : all) {
      const std::int64_t last = most == nullptr ? ranges[axis].hi : std::min(ranges[axis].hi, (*most)[axis]);
      for (std::int64_t size = ranges[axis].lo; size <= last; ++size) {
        longer.push_back(each);
        longer.back().push_back(size);
      }
    }
    all = std::move(longer);
  }
  return all;
}

double sparsity_of(const NeighborhoodMask& mask) {
  double kept = 1;
  for (const AxisMask& axis : mask)
    kept *= static_cast<double>(attended_pairs(axis)) / static_cast<double>(axis.length * axis.length);
  return 1 - kept;
}

/// NATTEN compiles backward tiles of 128x64 tokens for head dims above 128 alone.
bool is_refused(const TilePair& backward) {
  return !backward.q_tile.empty() && product(backward.q_tile, "q_tile") == 128 && product(backward.kv_tile, "kv_tile") == 64;
}

/// The least time of all windows, strides and tiles within the sparsity; none is below its bound.
double least_ms(const study::SearchQuestion& question) {
  SearchSpace space = full_space(question.setting.input);
  space.tiles = question.tiles;
  space.phase = question.phase;
  space.causal = question.causal;
  const auto found = study::search_times(question, space, shared_context());
  const auto& times = std::get<study::SearchTimes>(found);
  double least_ms = 1e300;
  for (const Extents& window : combinations(question.window_range)) {
    // Dense attention has a kernel of its own.
    if (window == space.input && std::ranges::none_of(question.causal, std::identity())) continue;
    if (std::ranges::min(window) < 2) continue;  // NATTEN takes none
    for (const Extents& stride : combinations(question.stride_range, &window)) {
      const NeighborhoodMask mask = make_mask(space.input, window, stride, {}, question.causal);
      if (sparsity_of(mask) > question.constraints.sparsity->hi + 1e-12) continue;
      const std::vector<study::LeastTime> least = times.least(mask);
      for (std::size_t choice = 0; choice < space.tiles.size(); ++choice) {
        if (is_refused(space.tiles[choice].backward_tiles)) continue;
        const double ms = times.objective.exact_ms(mask, choice);
        if (least[choice].ms > ms) FAIL("a time is below its bound");
        least_ms = std::min(least_ms, ms);
      }
    }
  }
  return least_ms;
}

TEST_CASE("on an A100 no window, stride and tiles are faster than what search by time finds") {
  study::SearchQuestion question;
  question.setting.device = "a100";
  question.setting.head_dim = 64;
  question.top = 1;
  for (const auto& [input, phase] :
       {std::pair{Extents{9, 11}, SearchPhase::kForward}, {Extents{3, 4, 5}, SearchPhase::kForward},
        {Extents{4, 6}, SearchPhase::kBoth}, {Extents{80}, SearchPhase::kBoth}}) {
    for (const std::int64_t heads : {1, 60}) {  // a part of a wave, and several
      for (const double sparsity : {0.3, 0.6, 0.8}) {
        question.setting.input = input;
        question.setting.heads = heads;
        question.phase = phase;
        question.constraints.sparsity = SparsityRange{0.01, sparsity};
        const study::SearchAnswer answer = study::search(question, shared_context());
        CAPTURE(to_string(input), heads, sparsity, phase == SearchPhase::kBoth);
        REQUIRE(answer.candidates.size() == 1);
        CHECK(answer.question.tiles.front().backend == "cutlass-fna");
        CHECK(answer.candidates[0].total_ms() == Approx(least_ms(answer.question)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("nor on an H200 where one of two axes is causal, whose launches have CTAs an SM of their own") {
  study::SearchQuestion question;
  question.setting.device = "h200";
  question.setting.head_dim = 64;
  question.setting.input = {18, 14};
  question.setting.heads = 60;
  question.top = 1;
  for (const PerAxis<bool>& causal : {PerAxis<bool>{true, false}, PerAxis<bool>{false, true}}) {
    question.causal = causal;
    for (const double sparsity : {0.6, 0.8}) {
      question.constraints.sparsity = SparsityRange{0.01, sparsity};
      const study::SearchAnswer answer = study::search(question, shared_context());
      REQUIRE(answer.candidates.size() == 1);
      CHECK(answer.question.tiles.front().backend == "hopper-fna");
      CHECK(answer.candidates[0].total_ms() == Approx(least_ms(answer.question)).epsilon(1e-9));
    }
  }
}

}  // namespace search_times_test
