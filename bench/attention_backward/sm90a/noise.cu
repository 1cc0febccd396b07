#include <cuda_runtime.h>

#include "../noise.hpp"

namespace natten_sim::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 22;
constexpr int kCopies = 24;

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw kernels::CudaError(what, cudaGetErrorString(status));
}

}  // namespace

struct Noise::Copies {
  cudaStream_t stream = nullptr;
  void* host = nullptr;
  kernels::DeviceBuffer device{kBytes};
};

Noise::Noise(bool on) {
  if (!on) return;
  copies_ = std::make_unique<Copies>();
  require(cudaStreamCreateWithFlags(&copies_->stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require(cudaMallocHost(&copies_->host, kBytes), "cudaMallocHost");
}

Noise::~Noise() {
  if (copies_ == nullptr) return;
  cudaStreamSynchronize(copies_->stream);
  cudaStreamDestroy(copies_->stream);
  cudaFreeHost(copies_->host);
}

void Noise::start() {
  if (copies_ == nullptr) return;
  for (int i = 0; i < kCopies; ++i) {
    const bool down = i % 2 == 0;
    require(cudaMemcpyAsync(down ? copies_->device.data() : copies_->host,
                            down ? copies_->host : copies_->device.data(), kBytes,
                            down ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, copies_->stream),
            "cudaMemcpyAsync");
  }
}

}  // namespace natten_sim::bench
