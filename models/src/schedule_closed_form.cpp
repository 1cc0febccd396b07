#include <algorithm>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedule_closed_form.hpp>

namespace natten_sim {
namespace {

/// A mask of one tile is both.
struct Shape {
  bool full = true;
  bool causal = true;
};

/// Full, or causal with square tiles: KV tile j attends to Q tiles j and later.
Shape shape_of(const BlockMask& mask) {
  Shape shape;
  shape.causal = mask.q_tiles == mask.kv_tiles;
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv) {
      const bool attends = mask.at(q, kv) != TileWork::kNone;
      shape.full = shape.full && attends;
      shape.causal = shape.causal && attends == (kv <= q);
    }
  }
  return shape;
}

bool uniform_serial(const BackwardProblem& problem, const BackwardCosts& costs) {
  const bool partial = std::find(problem.mask.work.begin(), problem.mask.work.end(), TileWork::kPartial) !=
                       problem.mask.work.end();
  const bool whole = std::find(problem.mask.work.begin(), problem.mask.work.end(), TileWork::kFull) !=
                     problem.mask.work.end();
  return (!(partial && whole) || costs.compute == costs.compute_partial) && costs.writer_stages == 0 &&
         costs.handoff == 0 && costs.handoff_far.value_or(0.0) == 0 && problem.heads_per_kv_head == 1;
}

/// Cost of one task's compute; all are equal.
double compute_of(const BackwardProblem& problem, const BackwardCosts& costs) {
  return std::find(problem.mask.work.begin(), problem.mask.work.end(), TileWork::kFull) !=
                 problem.mask.work.end()
             ? costs.compute
             : costs.compute_partial;
}

/// Bins of n + 1 tasks, each a long chain and its counterpart, and for an odd number of tiles the middle
/// chains of two heads; bins run on the workers in turn. The middle chain of the last head stays alone, with
/// (n + 1) / 2 tasks, when n and the heads are both odd; it is the last bin.
double symmetric_shift_tasks(std::int64_t n, std::int64_t heads, std::int64_t workers) {
  const std::int64_t whole = heads * n / 2;  // bins of n + 1 tasks
  const bool half = heads % 2 == 1 && n % 2 == 1;
  const std::int64_t rounds = ceil_divide(whole, workers);
  const bool alone = half && whole % workers == 0;  // the half bin opens a round of its own
  return static_cast<double>(rounds * (n + 1) + (alone ? (n + 1) / 2 : 0));
}

std::optional<double> square_form(BackwardAlgorithm algorithm, Shape shape, Dispatch dispatch, double n,
                                  double m, double c, double r) {
  const bool even = static_cast<std::int64_t>(m) % 2 == 0;
  const double serial = m * n * (c + r);
  if (shape.full || algorithm == BackwardAlgorithm::kAscending) return serial + (n - 1) * r;
  if (dispatch == Dispatch::kStatic || m == 1) return serial;
  if (algorithm == BackwardAlgorithm::kDescending && even && r <= c)
    return m * (n + 1) * (c + r) / 2 + (n - 1) * r;
  return std::nullopt;
}

}  // namespace

std::optional<double> schedule_closed_form(BackwardAlgorithm algorithm, const BackwardProblem& problem,
                                           const BackwardCosts& costs, Dispatch dispatch) {
  require_valid(problem);
  const Shape shape = shape_of(problem.mask);
  if ((!shape.full && !shape.causal) || !uniform_serial(problem, costs)) return std::nullopt;
  const std::int64_t q_tiles = problem.mask.q_tiles, kv_tiles = problem.mask.kv_tiles;
  const std::int64_t heads = problem.heads, workers = problem.workers;
  const double c = compute_of(problem, costs), r = costs.reduce + costs.per_tile_tax;
  const double rounds = static_cast<double>(ceil_divide(heads * kv_tiles, workers) * q_tiles);
  switch (algorithm) {
    case BackwardAlgorithm::kAscending:
    case BackwardAlgorithm::kDescending:
    case BackwardAlgorithm::kSpt:
      if (q_tiles != kv_tiles || kv_tiles != workers) return std::nullopt;
      return square_form(algorithm, shape, dispatch, static_cast<double>(workers), static_cast<double>(heads),
                         c, r);
    case BackwardAlgorithm::kShift:
      if (!shape.full || q_tiles < kv_tiles || dispatch != Dispatch::kStatic) return std::nullopt;
      return rounds * (c + r);
    case BackwardAlgorithm::kSymmetricShift:
      if (!shape.causal || dispatch != Dispatch::kStatic) return std::nullopt;
      return symmetric_shift_tasks(kv_tiles, heads, workers) * (c + r);
    case BackwardAlgorithm::kUnordered:
      if (!shape.full) return std::nullopt;
      return rounds * (c + costs.reduce);
    case BackwardAlgorithm::kFa2Split:
    case BackwardAlgorithm::kTwoPass:
    case BackwardAlgorithm::kBest:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace natten_sim
