#pragma once

namespace natten_sim::kernels {

/// The CUDA stream of this thread's launches: the default stream (null) unless a StreamScope says otherwise.
[[nodiscard]] void* current_stream() noexcept;

/// Sends this thread's launches to another stream (a cudaStream_t) until the end of the scope. Memory of
/// DeviceBuffer and the timers of gpu.hpp stay with the default stream.
class StreamScope {
 public:
  explicit StreamScope(void* stream) noexcept;
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  void* before_;
};

}  // namespace natten_sim::kernels
