#pragma once

#include <exception>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::operators {

/// The last error of this thread.
struct Failure {
  std::string sentence;
  bool of_hardware = false;
};
[[nodiscard]] Failure& last_failure() noexcept;

/// What `call` returns, or `otherwise` after an error.
template <typename T, typename Call>
[[nodiscard]] T guarded(T otherwise, Call&& call) noexcept {
  try {
    return std::forward<Call>(call)();
  } catch (const HardwareAbsent& error) {
    last_failure() = {error.what(), true};
  } catch (const std::exception& error) {
    last_failure() = {error.what(), false};
  }
  return otherwise;
}

/// The GPU of that number, opened once; this thread's from now on. @throws HardwareAbsent unless it is sm_90.
[[nodiscard]] const kernels::GpuInfo& opened(int device);

}  // namespace natten_sim::operators
