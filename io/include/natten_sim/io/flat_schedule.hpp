#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/io/schedule_table.hpp>

namespace natten_sim {

/// A schedule table as arrays that a kernel reads without a search.
///
/// Static: worker w runs the chains worker_begin[w] .. worker_begin[w + 1] - 1, in that order. Dynamic:
/// chains lie in launch order, a free worker takes the next, and worker_begin is {0, chains}. Chain c has the
/// tasks task_begin[c] .. task_begin[c + 1] - 1, in the order in which it takes its Q tiles. A task adds to
/// dQ of (head, q_tile) when as many parts as its rank were added before; rank -1: in no order. With merged
/// heads a chain's head is a KV head, and each task says its query head.
struct FlatSchedule {
  struct Chain {
    std::int32_t head = 0, kv_tile = 0;
  };
  struct Task {
    std::int32_t q_tile = 0, rank = 0, head = 0;
  };
  std::vector<std::int32_t> worker_begin;
  std::vector<Chain> chains;  ///< those with tasks
  std::vector<std::int32_t> task_begin;
  std::vector<Task> tasks;
};

/// O(tasks). Requires a valid table with fewer than 2^31 tasks.
[[nodiscard]] FlatSchedule flatten(const ScheduleTable& table);

/// The arrays as a C++11 header that CUDA's compilers take too, in namespace natten_sim_schedule:
/// `constexpr int kQTiles = 3;` and the like, and `worker_begin`, `chain_head`, `chain_kv_tile`,
/// `task_begin`, `task_q_tile`, `task_rank`. Define NATTEN_SIM_SCHEDULE_DATA before to say what the arrays
/// are, as `static __device__ const`; else `static const`. With merged heads also `task_head`.
[[nodiscard]] std::string schedule_header(const ScheduleTable& table);

/// The same arrays in the same order as little-endian 32-bit integers, behind eight bytes `NSCHED\1\0` and
/// ten integers: Q tiles, KV tiles, heads, heads a KV head, workers, 1 if static, 1 if ordered, entries of
/// worker_begin, chains, tasks. With merged heads `NSCHED\2\0`, and `task_head` at the end.
[[nodiscard]] std::string schedule_binary(const ScheduleTable& table);

}  // namespace natten_sim
