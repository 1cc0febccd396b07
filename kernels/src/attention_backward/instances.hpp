#pragma once

#include <span>

#include "attention_backward/arguments.hpp"

namespace natten_sim::kernels::attention_backward {

/// A compiled kernel and what its launch needs.
struct Instance {
  KernelShape shape;
  Draws draws = Draws::kEarly;
  const void* kernel = nullptr;  // void(Arguments)
  int threads = 0;
  int shared_bytes = 0;
};

// One table a source file, so that files compile on their own.
[[nodiscard]] std::span<const Instance> kernels_of_head_dim_64();
[[nodiscard]] std::span<const Instance> kernels_of_head_dim_128();
[[nodiscard]] std::span<const Instance> kernels_that_draw_in_time();
[[nodiscard]] std::span<const Instance> ladder_steps();
[[nodiscard]] std::span<const Instance> mma_kernels_of_head_dim_64();
[[nodiscard]] std::span<const Instance> mma_kernels_of_head_dim_128();

/// What comes before and after the kernel; see around.cu. All asynchronous.
struct Around {
  Problem problem;
  KernelShape shape;
  Tensors tensors;
  int q_tiles = 0;
  float* lse2 = nullptr;
  float* delta = nullptr;
  const float* dq = nullptr;
  const unsigned* turns = nullptr;  ///< null: the accumulator was cleared
  unsigned* counters = nullptr;     ///< cleared before the kernel
  std::size_t counter_count = 0;
  const float* dk = nullptr;        ///< of each query head, or null
  const float* dv = nullptr;
};
void launch_preprocess(const Around& around);
void launch_postprocess(const Around& around);

}  // namespace natten_sim::kernels::attention_backward
