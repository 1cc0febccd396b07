#pragma once

#include <functional>
#include <memory>

#include <natten_sim/core/catalog.hpp>

namespace natten_sim {
class AxisMemory;
}  // namespace natten_sim

namespace natten_sim::study {

/// What every study may use besides its question: the catalog (backends, NATTEN's releases, presets, devices
/// and kernels, including those that the user added) and where to report progress. It is a plain value; there
/// are no globals.
///
///     study::Context context = study::default_context();
///     study::CountAnswer answer = study::count(question, context);
struct Context {
  Catalog catalog;
  unsigned threads = 1;                       ///< the answer never depends on it
  std::function<void(double)> progress = {};  ///< called with 0..1
  std::shared_ptr<AxisMemory> axis_memory = {};  ///< of searches one after another; none: each starts anew
};

/// The catalog that ships with the library, one thread, no progress.
[[nodiscard]] Context default_context();

}  // namespace natten_sim::study
