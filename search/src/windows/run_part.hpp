#pragma once

#include <natten_sim/core/parallel.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// The part of a run whose progress goes from `from` to `to`. Keep `run` while it is used.
inline Parallel run_part(const SearchRun& run, double from, double to) {
  Parallel part{.threads = run.threads};
  if (run.progress)
    part.progress = [&run, from, to](double done) { run.progress(from + (to - from) * done); };
  return part;
}

}  // namespace natten_sim
