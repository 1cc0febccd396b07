#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_backward/problem.hpp>

namespace natten_sim::kernels::attention_backward {

enum TaskFlag : std::uint16_t {
  kMasked = 1,  ///< some pairs of tokens do not attend
  kLast = 2,    ///< of its chain
  kNoDq = 4,    ///< stands in a chain without tasks, whose dK and dV are zero: adds nothing to dQ
  kEnd = 8,     ///< no more tasks
};

/// One element of a worker's list: a pair of tiles. 16 bytes, one load.
struct alignas(16) Task {
  std::uint16_t q_tile = 0;
  std::uint16_t kv_tile = 0;
  std::uint16_t head = 0;  ///< query head
  std::uint16_t kv_head = 0;
  std::uint16_t batch = 0;
  std::uint16_t flags = 0;
  std::uint16_t rank = 0;     ///< turn among the additions to its dQ tile
  std::uint16_t pattern = 0;  ///< of a masked pair of tiles, where pairs of tokens are given

#if defined(__CUDACC__)
  __host__ __device__
#endif
      bool
      has(TaskFlag flag) const {
    return (flags & flag) != 0;
  }
};

/// Tasks of one chain, one behind the other.
struct Chain {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// Which pairs of a pair of tiles attend, as the threads of both consumer warpgroups hold its scores: a word
/// for each of two keys, bit 2 * j + e for query 8 * j + 2 * (lane % 4) + e. See attention_forward/mask.cuh.
inline constexpr int kConsumerThreads = 256;
struct Pattern {
  std::uint32_t word[kConsumerThreads][2] = {};
};

/// A schedule as the kernel walks it.
struct WorkList {
  std::vector<Task> tasks;
  std::vector<Chain> chains;               ///< static: worker by worker; dynamic: in launch order
  std::vector<std::int32_t> worker_begin;  ///< static: one more than workers; dynamic: empty
  std::vector<Pattern> patterns;           ///< where Problem::pairs is given
};

/// Requires what require_runnable requires.
[[nodiscard]] WorkList work_list(const Problem& problem, const KernelShape& kernel,
                                 const BackwardProblem& tiles, const BackwardSchedule& schedule);

}  // namespace natten_sim::kernels::attention_backward
