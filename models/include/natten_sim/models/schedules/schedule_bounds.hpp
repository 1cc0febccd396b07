#pragma once

#include <cstdint>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// Which reductions wait for their turn: dQ and dK/dV, dK/dV alone, or none.
enum class ReductionOrder { kPrescribed, kUnorderedDq, kUnordered };

enum class BindingBound { kWork, kTasks, kChains, kPacking, kDqSequence, kCrowding, kDkvSequence };

template <>
struct NamesOf<BindingBound> {
  static constexpr const char* kConcept = "bound";
  static constexpr Name<BindingBound> kTable[] = {{BindingBound::kWork, "work"},
                                                  {BindingBound::kTasks, "tasks"},
                                                  {BindingBound::kChains, "chains"},
                                                  {BindingBound::kPacking, "packing"},
                                                  {BindingBound::kDqSequence, "dq-sequence"},
                                                  {BindingBound::kCrowding, "crowding"},
                                                  {BindingBound::kDkvSequence, "dkv-sequence"}};
};

/// No schedule of a problem, static or dynamic, can finish before any of these times, whatever its orders. c
/// is a task's compute, r its reduction with the tax, t = c + r, h the smaller handoff. (If reductions are
/// unordered, there is no tax and there are no dQ bounds.) A chain's own time T is the sum of its t when
/// serial, and at least max(sum of c + least r, least c + sum of r) with an asynchronous writer; plus its
/// dK/dV reduction, if any; plus prologue and epilogue (with a writer, the epilogue in place of the least r
/// if it is longer). A contribution below waits for a prologue and c; a serial one has an epilogue behind it.
struct ScheduleBounds {
  /// Sum of T over workers.
  double work = 0;
  /// Serial only. Some worker gets at least N / workers of the N tasks, rounded up. The bound is that number
  /// times the least t.
  double tasks = 0;
  /// With chains sorted by T, longest first: some worker gets k + 1 of the first k * workers + 1 chains, so
  /// at least the k + 1 shortest of them, for every k. k = 0: the longest chain.
  double chains = 0;
  /// Whole costs only. Chains as they pack on workers (packing_bound.hpp); 0 when the costs are not whole.
  double packing = 0;
  /// Some dQ tile with p contributions: its first reduction waits for a compute, then p reductions follow one
  /// another; between two of different workers lies the handoff. Two of one worker are of different chains,
  /// and a chain starts when the one before is done: between them lies a compute, with a writer too. Together
  /// c + p * r + (p - 1) * min(h, c), with the least c.
  double dq_sequence = 0;
  /// Serial only. Of j chains of n tasks each that contribute to one dQ tile, some k = ceil(j / n) come to it
  /// at the same position p of theirs. None of them reduces before p tasks and a compute, the last of the k
  /// reductions has n - 1 - p tasks behind it: n * t + (k - 1) * (r + min(h, c)) with the least t and c.
  double crowding = 0;
  /// dK/dV of one KV tile over the g heads of its group: the first chain, then g reductions, with
  /// min(h, chain) between two.
  double dkv_sequence = 0;

  /// Largest whole number that all costs are multiples of, and therefore all times; 0 if some cost is not
  /// whole.
  double grain = 0;

  /// The largest of them, rounded up to a whole multiple of the grain.
  [[nodiscard]] double best() const;
  [[nodiscard]] double largest() const;
  /// Which one is the largest; ties: the first in the order above.
  [[nodiscard]] BindingBound binding() const;
};

/// O(cells of the mask + KV tiles log KV tiles + chains / workers), and packing_bound. @throws
/// InvalidParameter on an invalid problem.
[[nodiscard]] ScheduleBounds schedule_bounds(const BackwardProblem& problem, const BackwardCosts& costs,
                                             ReductionOrder order = ReductionOrder::kPrescribed);

/// The time that a chain keeps its worker busy when it never waits (T above).
[[nodiscard]] double chain_time(const BackwardProblem& problem, const BackwardCosts& costs,
                                std::int32_t kv_tile, ReductionOrder order = ReductionOrder::kPrescribed);

}  // namespace natten_sim
