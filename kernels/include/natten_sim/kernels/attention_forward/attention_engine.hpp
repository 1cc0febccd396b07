#pragma once

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::kernels::attention_forward {

/// Attention forward for sm_90a as an engine of `attention`: what one calls a problem, a variant and buffers
/// in the words of the other.

/// Contiguous, (batch, heads, tokens, head_dim).
[[nodiscard]] Problem problem_of(const AttentionProblem& problem);
/// @throws InvalidParameter when no kernel has the variant's tiles.
[[nodiscard]] KernelShape shape_of(const AttentionProblem& problem, const AttentionVariant& variant);
/// @throws InvalidParameter for CtaSchedule::kTile.
[[nodiscard]] Schedule schedule_of(const AttentionVariant& variant);
[[nodiscard]] Tensors tensors_of(const AttentionBuffers& buffers);

/// See prepare_attention, which calls it for AttentionEngine::kWgmma.
[[nodiscard]] AttentionLaunch prepare(const GpuInfo& gpu, const AttentionProblem& problem,
                                      const AttentionVariant& variant, const AttentionBuffers& buffers);

/// All of O and LSE against the double-precision kernels of the GPU. Waits.
[[nodiscard]] Deviation check_whole(const AttentionProblem& problem, const AttentionBuffers& buffers);

}  // namespace natten_sim::kernels::attention_forward
