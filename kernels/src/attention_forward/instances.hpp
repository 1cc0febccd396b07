#pragma once

#include <span>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>

#include "attention_forward/arguments.hpp"

namespace natten_sim::kernels::attention_forward {

/// A compiled kernel and what its launch needs.
struct Instance {
  KernelShape shape;
  const void* kernel = nullptr;  // void(Arguments)
  int threads = 0;
  int shared_bytes = 0;
  int columns = 64;  // of a TMA box
};

// One table a source file, so that files compile on their own.
[[nodiscard]] std::span<const Instance> sequences_head_dim_64();
[[nodiscard]] std::span<const Instance> sequences_head_dim_96();
[[nodiscard]] std::span<const Instance> sequences_head_dim_128();
[[nodiscard]] std::span<const Instance> sequences_head_dim_160();
[[nodiscard]] std::span<const Instance> sequences_head_dim_192();
[[nodiscard]] std::span<const Instance> sequences_head_dim_256();
[[nodiscard]] std::span<const Instance> neighborhoods();
[[nodiscard]] std::span<const Instance> ladder_steps();

}  // namespace natten_sim::kernels::attention_forward
