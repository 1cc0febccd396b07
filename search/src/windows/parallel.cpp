#include "windows/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#include <version>

namespace natten_sim {

std::size_t worker_count(const SearchRun& run) noexcept { return std::max(1u, run.threads); }

void run_tasks(std::size_t count, const SearchRun& run, double from, double to,
               const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t done = 0;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t index = next++; index < count && !stop; index = next++) {
        task(index, worker);
        if (!run.progress) continue;
        const std::lock_guard lock(mutex);
        ++done;
        run.progress(from + (to - from) * static_cast<double>(done) / static_cast<double>(count));
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
#ifdef __cpp_lib_jthread
  {
    std::vector<std::jthread> threads;
    const std::size_t workers = std::min(worker_count(run), std::max<std::size_t>(count, 1));
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

}  // namespace natten_sim
