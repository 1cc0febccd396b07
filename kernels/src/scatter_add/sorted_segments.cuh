#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

namespace natten_sim::kernels::scatter_add {

/// Path::kSorted: a stable radix sort of updates by row (CUB); then blocks of 64 sorted updates are summed in
/// order, in fp32, and what belongs to a row that crosses blocks is added up block by block. The same bits
/// each time, whatever the GPU's timing.
[[nodiscard]] std::size_t sorted_scratch_bytes(const Problem& problem);

template <typename Element>
void launch_sorted(const Problem& problem, const Element* values, const std::int64_t* index,
                   Element* destination, void* scratch);

extern template void launch_sorted(const Problem&, const float*, const std::int64_t*, float*, void*);
extern template void launch_sorted(const Problem&, const __half*, const std::int64_t*, __half*, void*);
extern template void launch_sorted(const Problem&, const __nv_bfloat16*, const std::int64_t*, __nv_bfloat16*,
                                   void*);

}  // namespace natten_sim::kernels::scatter_add
