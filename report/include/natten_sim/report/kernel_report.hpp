#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/study/kernel.hpp>

namespace natten_sim::report {

/// Adds what NATTEN does in one pass: `kernel`, null where NATTEN has no such call or refuses it, and then
/// `kernel_refusal` with the rule. docs/natten.md describes the fields.
void add_kernel_fields(const study::KernelAnswer& answer, Walk walk, Json& fields);

/// For people; empty where NATTEN has no such call:
///
///     NATTEN: hopper-fna, schedule coop      the mask needs   the kernel does
///     launched Q tiles                                  4             5
///     ...
[[nodiscard]] std::string kernel_text(const study::KernelAnswer& answer, Walk walk, const TileCount& mask);

}  // namespace natten_sim::report
