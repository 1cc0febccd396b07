#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace natten_sim {

constexpr std::int32_t kNobody = -1;

/// Ordered reductions into one place: dQ of (head, Q tile), or dK/dV of (KV head, KV tile).
struct Turn {
  std::int32_t next = 0;               // position in the order whose reduction comes next
  std::int32_t last_worker = kNobody;  // of the reduction before it
  double last_end = 0;
};

/// What a worker is doing.
struct WorkerState {
  std::int32_t chain = kNobody;  // launch index
  std::int32_t task = 0;         // whose reduction runs or waits; from the task count on: turns of dK/dV
  double handed = 0;             // when that task's result is ready to be reduced
  double ready = 0;              // when its reduction may start but for its turn
  bool waits = false;
  bool reduced_before = false;  // has finished a reduction in its life
  bool closing = false;         // in the chain's epilogue behind its last reduction, or in its early exit
  std::size_t first_task = 0;   // index of the chain's first task in the record
  std::vector<double> ends;     // reduction ends of the last tasks, by task modulo stages
};

}  // namespace natten_sim
