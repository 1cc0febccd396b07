#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#include <version>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/parallel.hpp>

namespace natten_sim {

std::size_t worker_count(const Parallel& parallel) noexcept { return std::max(1u, parallel.threads); }

void run_tasks(std::size_t count, const Parallel& parallel,
               const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed = count, done = 0;
  Cancellation* const token = current_cancellation();
  const auto work = [&](std::size_t worker) {
    const CancellationScope scope(token);
    for (std::size_t index = next++; index < count && !stop; index = next++) {
      try {
        poll();
        task(index, worker);
        if (!parallel.progress) continue;
        const std::lock_guard lock(mutex);
        ++done;
        parallel.progress(static_cast<double>(done) / static_cast<double>(count));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (index < failed) failure = std::current_exception();
        failed = std::min(failed, index);
        stop = true;
      }
    }
  };
#ifdef __cpp_lib_jthread
  {
    std::vector<std::jthread> threads;
    const std::size_t workers = std::min(worker_count(parallel), std::max<std::size_t>(count, 1));
    try {
      for (std::size_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
    } catch (const std::system_error&) {
      // The system starts no more threads: those that run do all tasks.
    }
    work(0);
  }
#else
  work(0);  // in a browser without threads; results do not depend on their number
#endif
  if (failure) std::rethrow_exception(failure);
}

void run_parts(std::size_t count, const Parallel& parallel,
               const std::function<void(std::size_t, const ProgressFunction&)>& task) {
  std::mutex mutex;
  std::vector<double> parts(count, 0.0);
  double sum = 0;
  run_tasks(count, {.threads = parallel.threads}, [&](std::size_t index, std::size_t) {
    if (!parallel.progress) return task(index, {});
    const auto progress = [&](double fraction) {
      const std::lock_guard lock(mutex);
      sum += fraction - parts[index];
      parts[index] = fraction;
      parallel.progress(sum / static_cast<double>(count));
    };
    task(index, progress);
    progress(1);
  });
}

}  // namespace natten_sim
