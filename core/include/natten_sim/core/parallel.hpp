#pragma once

#include <cstddef>
#include <functional>

namespace natten_sim {

using ProgressFunction = std::function<void(double)>;

/// How many threads may share a piece of work, and who is told how far it is.
struct Parallel {
  unsigned threads = 1;            ///< results do not depend on it; 0 is 1
  ProgressFunction progress = {};  ///< called with 0..1, from any thread, one call at a time
};

/// Calls task(index, worker) for every index below `count`; workers are numbered from 0. Indices are handed
/// out in order, so put the longest task first. After an exception no task is begun; that of the smallest
/// index is thrown here, whatever the number of threads. Tasks poll the caller's token (cancellation.hpp).
void run_tasks(std::size_t count, const Parallel& parallel,
               const std::function<void(std::size_t index, std::size_t worker)>& task);

/// The same for tasks that tell how far they are. The whole is as far as they are on average.
void run_parts(std::size_t count, const Parallel& parallel,
               const std::function<void(std::size_t index, const ProgressFunction& progress)>& task);

/// Workers that run_tasks uses at most: 1 or more.
[[nodiscard]] std::size_t worker_count(const Parallel& parallel) noexcept;

}  // namespace natten_sim
