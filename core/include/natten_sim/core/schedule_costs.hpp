#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// What the tasks of an attention backward kernel cost on a device, in microseconds, as measurements gave
/// it: one file of data/schedule-costs/ a kernel, device and head dim.

/// Kernels choose tiles and orders by it.
enum class MaskClass { kFull, kCausal, kWindow };

template <>
struct NamesOf<MaskClass> {
  static constexpr const char* kConcept = "mask class";
  static constexpr Name<MaskClass> kTable[] = {
      {MaskClass::kFull, "full"}, {MaskClass::kCausal, "causal"}, {MaskClass::kWindow, "window"}};
};

/// Tasks of one tile shape. Some kernels have different tiles for different masks.
struct TaskCosts {
  std::vector<MaskClass> masks;
  std::int64_t q_tile = 0, kv_tile = 0;  ///< in tokens
  double compute_us = 0;
  double compute_partial_us = 0;
  double prologue_us = 0;
  double epilogue_us = 0;
  double reduce_us = 0;  ///< into dQ, in no order
  double turn_us = 0;    ///< what an ordered reduction takes beyond that: its semaphore and its completion
  double handoff_us = 0;
  double reduce_kv_us = 0;  ///< into dK/dV, with fewer KV heads than heads
  /// Unordered full masks: chains of one head in step add to the same dQ tile at a time. Compute grows by
  /// this fraction when they fill all workers, and in proportion below.
  double crowding = 0;
  /// More before the first compute of a chain that is drawn (dynamic dispatch) by a worker whose chains have
  /// one or two tasks, in an order: it waits for the last turn of the chain before. Longer chains hide it.
  double draw_us = 0;
  double ordered_chain_us = 0;  ///< more at the end of a chain whose reductions are in an order
  /// Chains that start spread, in an order: each read of Q, dO and dQ comes after one of all heads of the
  /// section. Compute grows by `l2_misses` times the share of a section that the L2 does not keep, when it
  /// keeps `l2_kept` times its size.
  double l2_misses = 0, l2_kept = 0;

  friend bool operator==(const TaskCosts&, const TaskCosts&) = default;
};

/// What the costs rest on.
struct ScheduleCostEvidence {
  std::int64_t points = 0;      ///< measured times that were fitted
  std::int64_t parameters = 0;  ///< costs that were fitted
  double rms_error = 0;         ///< of the fitted times, as a fraction
  std::string fitted_to;
  // The fitted points: these lengths and masks, with so many tokens in all and so many elements a token, and
  // as many KV heads as heads.
  std::vector<std::int64_t> lengths;
  std::vector<MaskClass> masks;
  std::int64_t tokens_in_all = 0;
  std::int64_t hidden = 0;
  std::string assumed;  ///< what was not fitted, and why it is as it is
  std::string validity;
  /// Mean relative error of times that were measured after the costs were frozen; none: not measured.
  std::optional<double> held_out_error;
  std::string source;

  friend bool operator==(const ScheduleCostEvidence&, const ScheduleCostEvidence&) = default;
};

/// A call whose time was predicted with the costs before it was measured.
struct JudgedTime {
  std::string mask;       ///< full, causal or a window, as a question gives it
  std::string algorithm;  ///< that gave the order; empty: unordered
  std::int64_t tokens = 0;
  std::int64_t heads = 0;  ///< of all batches
  std::int64_t heads_per_kv_head = 1;
  double predicted_ms = 0, measured_ms = 0;

  friend bool operator==(const JudgedTime&, const JudgedTime&) = default;
};

struct ScheduleCostSet {
  std::string name;  ///< `fa4-h200-d128`
  std::string kernel, device;
  std::int64_t head_dim = 0;
  std::vector<Dtype> dtypes;
  std::int32_t ctas_per_sm = 1;
  std::int32_t writer_stages = 0;
  std::vector<TaskCosts> tasks;
  double launch_us = 0;          ///< once a call
  double ordered_launch_us = 0;  ///< once more when deterministic: clearing semaphores
  /// Rate at which the kernels before and after the main one move their bytes.
  double other_bytes_per_s = 0;
  double slowdown = 0;     ///< of runs much longer than `slowdown_ms`: power, as a fraction
  double slowdown_ms = 1;  ///< a run of this length has half of it
  ScheduleCostEvidence fit;
  std::vector<JudgedTime> judged;  ///< errors of times near a call give its interval

  friend bool operator==(const ScheduleCostSet&, const ScheduleCostSet&) = default;

  /// Null if there are none for such masks.
  [[nodiscard]] const TaskCosts* tasks_of(MaskClass mask) const noexcept {
    for (const TaskCosts& costs : tasks) {
      for (const MaskClass each : costs.masks) {
        if (each == mask) return &costs;
      }
    }
    return nullptr;
  }
};

/// As a schedule runs them; ordered reductions pay their turn.
[[nodiscard]] inline BackwardCosts backward_costs(const ScheduleCostSet& set, const TaskCosts& tasks) {
  BackwardCosts costs;
  costs.compute = tasks.compute_us;
  costs.compute_partial = tasks.compute_partial_us;
  costs.reduce = tasks.reduce_us;
  costs.per_tile_tax = tasks.turn_us;
  costs.handoff = tasks.handoff_us;
  costs.reduce_kv = tasks.reduce_kv_us;
  costs.prologue = tasks.prologue_us;
  costs.epilogue = tasks.epilogue_us;
  costs.writer_stages = set.writer_stages;
  return costs;
}

}  // namespace natten_sim
