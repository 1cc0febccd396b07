#include <algorithm>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedules/schedule_closed_form.hpp>

namespace natten_sim {
namespace {

/// A mask of one tile is both full and causal.
struct Shape {
  bool full = true;
  bool causal = true;
};

/// Full, or causal with square tiles: KV tile j attends to Q tiles j and later.
Shape shape_of(const BlockMask& mask) {
  const std::int64_t tiles = mask.q_tiles;
  const AttendedTiles& attended = mask.attended();
  Shape shape;
  shape.full = attended.count == tiles * mask.kv_tiles;
  shape.causal = tiles == mask.kv_tiles && attended.count == tiles * (tiles + 1) / 2;
  for (std::size_t q = 0; shape.causal && q < attended.kv_of_q.size(); ++q) {
    const std::vector<std::int32_t>& kv = attended.kv_of_q[q];
    shape.causal = kv.size() == q + 1 && kv.back() == static_cast<std::int32_t>(q);
  }
  return shape;
}

bool uniform_serial(const BackwardProblem& problem, const BackwardCosts& costs) {
  const bool partial = problem.mask.attended().some_partial;
  const bool whole = problem.mask.attended().some_full;
  return (!(partial && whole) || costs.compute == costs.compute_partial) && costs.writer_stages == 0 &&
         costs.handoff == 0 && costs.handoff_far.value_or(0.0) == 0 && problem.heads_per_kv_head == 1 &&
         costs.prologue == 0 && costs.epilogue == 0 && costs.early_exit == 0 &&
         costs.release == TurnRelease::kAtOnce;
}

/// Cost of one task's compute; all are equal.
double compute_of(const BackwardProblem& problem, const BackwardCosts& costs) {
  return problem.mask.attended().some_full ? costs.compute : costs.compute_partial;
}

/// Bins of n + 1 tasks, each a long chain and its counterpart, and for an odd number of tiles the middle
/// chains of two heads; bins run on the workers in turn. The middle chain of the last head stays alone, with
/// (n + 1) / 2 tasks, when n and the heads are both odd; it is the last bin.
double symmetric_shift_tasks(std::int64_t n, std::int64_t heads, std::int64_t workers) {
  const std::int64_t whole = heads * n / 2;  // bins of n + 1 tasks
  const bool half = heads % 2 == 1 && n % 2 == 1;
  const std::int64_t rounds = ceil_divide(whole, workers);
  const bool alone = half && whole % workers == 0;  // the half bin opens a round of its own
  return static_cast<double>(rounds * (n + 1) + (alone ? n - n / 2 : 0));
}

/// A problem that some formula covers: tasks that all cost the same.
struct UniformProblem {
  Shape shape;
  std::int64_t q_tiles = 0, kv_tiles = 0, heads = 0, workers = 0;
  double compute = 0;
  double turn = 0;  ///< compute, reduction and tax
  double reduce = 0;
  double tax = 0;

  [[nodiscard]] bool square() const { return q_tiles == kv_tiles && kv_tiles == workers; }
  /// Tasks of the busiest worker, when chains of q tasks run on the workers in turn.
  [[nodiscard]] double rounds() const {
    return static_cast<double>(ceil_divide(heads * kv_tiles, workers) * q_tiles);
  }
  /// One head after another, in step.
  [[nodiscard]] double in_step() const { return static_cast<double>(heads * workers) * turn; }
  /// The last worker starts n - 1 reductions late.
  [[nodiscard]] double lag() const { return static_cast<double>(workers - 1) * (reduce + tax); }
};

std::optional<UniformProblem> uniform_problem(const BackwardProblem& problem, const BackwardCosts& costs) {
  require_valid(problem);
  const Shape shape = shape_of(problem.mask);
  if ((!shape.full && !shape.causal) || !uniform_serial(problem, costs)) return std::nullopt;
  UniformProblem uniform{shape, problem.mask.q_tiles, problem.mask.kv_tiles, problem.heads, problem.workers};
  uniform.compute = compute_of(problem, costs);
  uniform.reduce = costs.reduce;
  uniform.tax = costs.per_tile_tax;
  uniform.turn = uniform.compute + (uniform.reduce + uniform.tax);
  return uniform;
}

}  // namespace

std::optional<double> ascending_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                            Dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->square()) return std::nullopt;
  return u->in_step() + u->lag();
}

std::optional<double> spt_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                      Dispatch dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->square()) return std::nullopt;
  if (u->shape.full) return u->in_step() + u->lag();
  if (dispatch == Dispatch::kStatic || u->heads == 1) return u->in_step();
  return std::nullopt;
}

std::optional<double> descending_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                             Dispatch dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->square()) return std::nullopt;
  if (u->shape.full || dispatch == Dispatch::kStatic || u->heads == 1)
    return spt_closed_form(problem, costs, dispatch);
  if (u->heads % 2 != 0 || u->reduce + u->tax > u->compute) return std::nullopt;
  return static_cast<double>(u->heads) * static_cast<double>(u->workers + 1) * u->turn / 2 + u->lag();
}

std::optional<double> shift_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                        Dispatch dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->shape.full || u->q_tiles < u->kv_tiles || dispatch != Dispatch::kStatic) return std::nullopt;
  return u->rounds() * u->turn;
}

std::optional<double> symmetric_shift_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                                  Dispatch dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->shape.causal || dispatch != Dispatch::kStatic) return std::nullopt;
  return symmetric_shift_tasks(u->kv_tiles, u->heads, u->workers) * u->turn;
}

std::optional<double> unordered_closed_form(const BackwardProblem& problem, const BackwardCosts& costs,
                                            Dispatch) {
  const std::optional<UniformProblem> u = uniform_problem(problem, costs);
  if (!u || !u->shape.full) return std::nullopt;
  return u->rounds() * (u->compute + u->reduce);
}

}  // namespace natten_sim
