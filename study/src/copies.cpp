#include "copies.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

bool of_release(const PermutationRate& rate, std::size_t axes, const std::string& copies) {
  return rate.axes == static_cast<std::int64_t>(axes) && rate.natten == copies;
}

const PermutationRate* own_rate(const KernelCosts& costs, std::size_t axes, const std::string& copies) {
  const auto found =
      std::find_if(costs.permutation.begin(), costs.permutation.end(),
                   [&](const PermutationRate& rate) { return of_release(rate, axes, copies); });
  return found == costs.permutation.end() ? nullptr : &*found;
}

/// That of another kernel on the device: the copy kernel is the same, whatever attention follows it.
std::optional<PermutationRate> rate_beside(const Device& device, std::size_t axes, const std::string& copies,
                                           const Catalog& catalog) {
  for (const KernelCosts& other : catalog.kernel_costs) {
    const PermutationRate* rate = other.device == device.name ? own_rate(other, axes, copies) : nullptr;
    if (rate != nullptr) return *rate;
  }
  return std::nullopt;
}

/// `rate` of a kernel on `from`, on a device whose DRAM is `faster` times as fast.
PermutationRate transferred(PermutationRate rate, const std::string& from, double faster) {
  rate.into_bytes_per_s *= faster;
  rate.out_bytes_per_s *= faster;
  rate.interval = std::min(0.9, std::hypot(rate.interval, std::abs(faster - 1)));
  rate.origin = CopyOrigin::kTransferred;
  rate.source = "by DRAM bandwidth from " + from + ": " + rate.source;
  return rate;
}

std::optional<PermutationRate> rate_elsewhere(const Device& device, std::size_t axes,
                                              const std::string& copies, const Catalog& catalog) {
  for (const KernelCosts& other : catalog.kernel_costs) {
    const PermutationRate* rate = own_rate(other, axes, copies);
    if (rate == nullptr || other.device == device.name) continue;
    const Device& from = catalog.device(other.device);
    if (!from.dram_bytes_per_s || !device.dram_bytes_per_s) continue;
    return transferred(*rate, from.name, device.dram_bytes_per_s->value / from.dram_bytes_per_s->value);
  }
  return std::nullopt;
}

std::optional<PermutationRate> rate_on_axes(const KernelCosts& costs, const Device& device, std::size_t axes,
                                            const NattenRules& release, const Catalog& catalog) {
  if (const PermutationRate* rate = own_rate(costs, axes, release.copies)) return *rate;
  if (const auto rate = rate_beside(device, axes, release.copies, catalog)) return rate;
  if (const PermutationRate* rate = own_rate(costs, axes, "")) return *rate;
  return rate_elsewhere(device, axes, release.copies, catalog);
}

/// The rate on two axes for one, as far off as that on three axes is from it. PyTorch's operators copy nothing
/// on one axis.
std::optional<PermutationRate> as_on_two_axes(const std::optional<PermutationRate>& two,
                                              const std::optional<PermutationRate>& three) {
  if (!two || !three || two->origin == CopyOrigin::kPytorch) return std::nullopt;
  PermutationRate rate = *two;
  rate.axes = 1;
  const double change = std::max(std::abs(two->into_bytes_per_s / three->into_bytes_per_s - 1),
                                 std::abs(two->out_bytes_per_s / three->out_bytes_per_s - 1));
  rate.interval = std::min(0.9, std::hypot(rate.interval, change));
  rate.origin = CopyOrigin::kTransferred;
  rate.source = "as on two axes: " + rate.source;
  return rate;
}

}  // namespace

std::optional<PermutationRate> copy_rate(const KernelCosts& costs, const Device& device, std::size_t axes,
                                         const NattenRules& release, const Catalog& catalog) {
  const auto on_axes = [&](std::size_t number) {
    return rate_on_axes(costs, device, number, release, catalog);
  };
  std::optional<PermutationRate> rate = on_axes(axes);
  return rate || axes > 1 ? rate : as_on_two_axes(on_axes(2), on_axes(3));
}

double copy_launch_us(const Catalog& catalog) { return prior_value(catalog.cost_priors.forward, "launch_us", 0); }

double copy_ms(const PermutedTensor& copy, const PermutationRate& rate, double launch_us) {
  const double bytes = static_cast<double>(copy.bytes_read) + static_cast<double>(copy.bytes_written);
  const double plain = copy.into_tiles ? rate.into_bytes_per_s : rate.out_bytes_per_s;
  const bool lse = std::string_view(copy.name) == "lse";
  return 1e-3 * launch_us + 1e3 * bytes / (lse ? rate.lse_bytes_per_s.value_or(plain) : plain);
}

double copies_ms(const TokenPermutation& permutation, const PermutationRate& rate, double launch_us) {
  double ms = 0;
  for (const PermutedTensor& copy : permutation.copies) ms += copy_ms(copy, rate, launch_us);
  return ms;
}

}  // namespace natten_sim::study
