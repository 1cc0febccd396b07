#pragma once

#include <cstdint>
#include <string>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Whether CTAs keep step in a long launch of a full mask, kernel by kernel: time, sectors that the L2
/// answers, DRAM reads, how much SMs differ, and how far items of a round begin apart. `csv`: a file to which
/// every item of every launch is added: name, item, CTA, SM, begin and end in nanoseconds; empty: none.
void time_step(const kernels::GpuInfo& gpu, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim,
               const std::string& csv);

}  // namespace natten_sim::bench
