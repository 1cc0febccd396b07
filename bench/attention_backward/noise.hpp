#pragma once

#include <cstddef>
#include <memory>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Copies from host to device that run beside a launch, on the copy engines: traffic that arrives in the L2
/// at other times in every launch.
class Noise {
 public:
  explicit Noise(bool on);
  ~Noise();
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;

  /// Asynchronous; some 2 ms.
  void start();

 private:
  struct Copies;
  std::unique_ptr<Copies> copies_;
};

}  // namespace natten_sim::bench
