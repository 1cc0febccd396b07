#include "timed_kernel.hpp"

#include <natten_sim/study/time.hpp>

namespace natten_sim::study {
namespace {

constexpr const char* kFlexAttention = "flexattention";
constexpr const char* kCudnn = "cudnn";
/// This project's own, without permutation: masks partial tiles alone, as FlexAttention.
constexpr const char* kOwn = "gna";

}  // namespace

std::vector<std::string> timed_kernels() {
  std::vector<std::string> names;
  for (const NattenBackend backend : values_of<NattenBackend>())
    names.emplace_back(backend == NattenBackend::kFlexFna ? kFlexAttention : to_string(backend));
  for (const NattenBackend backend : values_of<NattenBackend>()) {
    if (backend != NattenBackend::kFlexFna) names.emplace_back(fmha_name(backend));
  }
  names.emplace_back(kOwn);
  names.emplace_back("fmha");
  names.emplace_back(kCudnn);
  return names;
}

bool natten_runs(const std::string& kernel) { return kernel != kFlexAttention && kernel != kOwn; }

TimedKernel timed_kernel(const std::string& name, const Device& device) {
  if (name == kCudnn) return {name, NattenBackend::kHopperFna, true};
  if (name == kFlexAttention) return {name, NattenBackend::kFlexFna, false};
  if (name == kOwn) return {name, NattenBackend::kFlexFna, false, true};
  if (name == "fmha") {
    const auto family = parse_name<NattenBackend>(device.default_backend);
    return {fmha_name(family), family, true};
  }
  for (const NattenBackend backend : values_of<NattenBackend>()) {
    if (name == to_string(backend)) {
      return backend == NattenBackend::kFlexFna ? TimedKernel{kFlexAttention, backend, false}
                                                : TimedKernel{name, backend, false};
    }
    if (name == fmha_name(backend)) return {name, backend, true};
  }
  throw UnknownName("kernel", name, closest_name(name, timed_kernels()), joined(timed_kernels()));
}

std::optional<TimedKernel> dense_kernel(const TimedKernel& kernel, const Device& device,
                                        std::int64_t head_dim, Dtype dtype, const Catalog& catalog) {
  if (kernel.dense) return kernel;
  const auto family = kernel.family == NattenBackend::kFlexFna
                          ? parse_name<NattenBackend>(device.default_backend)
                          : kernel.family;
  for (const TimedKernel& dense :
       {TimedKernel{fmha_name(family), family, true}, TimedKernel{kCudnn, family, true}}) {
    if (catalog.costs_of(dense.name, device.name, head_dim, dtype) != nullptr) return dense;
  }
  return std::nullopt;
}

}  // namespace natten_sim::study
