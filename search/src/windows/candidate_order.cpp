#include "windows/candidate_order.hpp"

#include <algorithm>
#include <iterator>

#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/decimal.hpp"
#include "windows/passes.hpp"
#include "windows/space.hpp"

namespace natten_sim {

const ObjectiveRow& row_of(Objective objective) {
  return *std::find_if(std::begin(kObjectives), std::end(kObjectives),
                       [&](const ObjectiveRow& row) { return row.objective == objective; });
}

double speedup_of(const TileCount& count, Objective objective) {
  switch (objective) {
    case Objective::kWork:
      return count.speedup_work();
    case Objective::kTime:
    case Objective::kMean:
      return count.speedup_mean();
    case Objective::kFlop:
      return count.speedup_flop();
    case Objective::kWorst:
    case Objective::kEndToEnd:
      break;
  }
  return count.speedup_worst();
}

bool CandidateOrder::operator()(const RankedPoint& a, const RankedPoint& b) const {
  if (a.cost < b.cost) return true;
  if (b.cost < a.cost) return false;
  if (a.fast_path != b.fast_path) return a.fast_path;
  if (a.stride_product != b.stride_product) return a.stride_product < b.stride_product;
  if (a.unevenness < b.unevenness) return true;
  if (b.unevenness < a.unevenness) return false;
  if (!(a.window == b.window)) return a.window < b.window;
  if (!(a.stride == b.stride)) return a.stride < b.stride;
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    if (!has_pass(space_->phase, walk)) continue;
    const TilePair& tiles_a = tiles_of(space_->tiles[a.tile_choice], walk);
    const TilePair& tiles_b = tiles_of(space_->tiles[b.tile_choice], walk);
    if (!(tiles_a.q_tile == tiles_b.q_tile)) return tiles_a.q_tile < tiles_b.q_tile;
    if (!(tiles_a.kv_tile == tiles_b.kv_tile)) return tiles_a.kv_tile < tiles_b.kv_tile;
  }
  return a.tile_choice < b.tile_choice;
}

AttendedBounds attended_bounds(const SearchSpace& space, const SearchConstraints& constraints) {
  const std::int64_t tokens = product(space.input, "tokens");
  const std::int64_t dense = checked_multiply(tokens, tokens, "dense_pairs");
  AttendedBounds bounds{0, dense};
  if (constraints.sparsity)
    bounds = {ceil_of_complement(dense, to_decimal(constraints.sparsity->hi)),
              floor_of_complement(dense, to_decimal(constraints.sparsity->lo))};
  bounds.lo = std::max(bounds.lo, constraints.least_attended.value_or(bounds.lo));
  bounds.hi = std::min(bounds.hi, constraints.most_attended.value_or(bounds.hi));
  return bounds;
}

std::optional<Ratio> cost_limit(const SearchConstraints& constraints) {
  if (!constraints.min_speedup) return std::nullopt;
  const Decimal speedup = to_decimal(*constraints.min_speedup);
  return Ratio{static_cast<std::int64_t>(power_of_ten(speedup.places)), speedup.digits};
}

ImbalanceLimit::ImbalanceLimit(const SearchConstraints& constraints) {
  if (!constraints.max_imbalance) return;
  limited_ = true;
  const Decimal limit = to_decimal(*constraints.max_imbalance);
  digits_ = limit.digits;
  scale_ = power_of_ten(limit.places);
}

bool ImbalanceLimit::allows(const Unevenness& unevenness) const {
  if (!limited_) return true;
  const Ratio ratio = unevenness.ratio();
  return static_cast<Int128>(ratio.numerator) * scale_ <= static_cast<Int128>(ratio.denominator) * digits_;
}

std::vector<Candidate> to_candidates(const SearchSpace& space, const std::vector<RankedPoint>& points) {
  std::vector<Candidate> candidates;
  candidates.reserve(points.size());
  for (const RankedPoint& point : points) {
    const NeighborhoodMask mask = mask_in(space, point.window, point.stride);
    const auto count = [&](Walk walk) {
      return count_tiles(problem_in(space, mask, point.tile_choice, walk));
    };
    const bool backward_alone = space.phase == SearchPhase::kBackward;
    candidates.push_back({mask, point.tile_choice, count(backward_alone ? Walk::kBackward : Walk::kForward)});
    if (space.phase == SearchPhase::kBoth) candidates.back().backward_count = count(Walk::kBackward);
  }
  return candidates;
}

}  // namespace natten_sim
