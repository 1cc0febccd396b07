#pragma once

#include <optional>

#include <natten_sim/models/tiles/token_permutation.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

/// The rates of copies on `axes` axes that count for `costs`, a kernel on `device`, in a release of NATTEN:
/// 1. those of the release's copies on the device, whatever kernel they were timed with, its own first;
/// 2. those of PyTorch's operators, where NATTEN's own copies were not timed on the device;
/// 3. those of the same copies on another device: a kernel that moves whole rows is bound by DRAM, so their
///    rates are scaled by the bandwidths; that of the log-sum-exp, which is not, stays;
/// 4. on one axis, which nobody has timed, those on two: rows are moved there too.
/// None: nobody has timed any.
[[nodiscard]] std::optional<PermutationRate> copy_rate(const KernelCosts& costs, const Device& device,
                                                       std::size_t axes, const NattenRules& release,
                                                       const Catalog& catalog);

/// Launch of a copy: that of an empty kernel, which is expected of all kernels. What is fitted to one has what it does
/// before its CTAs in it.
[[nodiscard]] double copy_launch_us(const Catalog& catalog);

/// A launch for each copy, and its bytes over their rate.
[[nodiscard]] double copy_ms(const PermutedTensor& copy, const PermutationRate& rate, double launch_us);
[[nodiscard]] double copies_ms(const TokenPermutation& permutation, const PermutationRate& rate,
                               double launch_us);

}  // namespace natten_sim::study
