#pragma once

#include <string>

#include <natten_sim/study/kernel.hpp>

namespace natten_sim::report {

/// For people; empty where NATTEN has no such call:
///
///     NATTEN: hopper-fna, schedule coop      the mask needs   the kernel does
///     launched Q tiles                                  4             5
///     ...
[[nodiscard]] std::string kernel_text(const study::KernelAnswer& answer, Walk walk, const TileCount& mask);

}  // namespace natten_sim::report
