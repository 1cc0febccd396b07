#pragma once

#include <cstddef>
#include <functional>

#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// Calls task(index, worker) for every index below `count`, on run.threads workers; indices are handed out in
/// order. Progress goes from `from` to `to`. The first exception stops the rest and is thrown here.
void run_tasks(std::size_t count, const SearchRun& run, double from, double to,
               const std::function<void(std::size_t index, std::size_t worker)>& task);

/// Workers that run_tasks uses: at least 1.
[[nodiscard]] std::size_t worker_count(const SearchRun& run) noexcept;

}  // namespace natten_sim
