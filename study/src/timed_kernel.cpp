#include "timed_kernel.hpp"

#include <algorithm>
#include <array>

#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {
namespace {

/// Libraries' dense kernels, which NATTEN does not run.
constexpr const char* kCudnn = "cudnn";
constexpr std::array<const char*, 4> kLibraries = {kCudnn, "fa2", "fa3", "fa4"};
/// This project's own, without permutation: masks partial tiles alone, as FlexAttention.
constexpr const char* kOwn = "gna";
/// This project's own on sequences, full or causal.
constexpr const char* kSequences = "ours";

TimedKernel library(const char* name) {
  const std::string named = name;
  return {.name = named, .family = NattenBackend::kHopperFna, .dense = true, .library = true, .longest_first = named == "fa3" || named == "fa4"};
}

TimedKernel fmha_of(NattenBackend family) { return {.name = fmha_name(family), .family = family, .dense = true}; }

/// FlexAttention has no dense kernel of its own.
NattenBackend dense_family(const TimedKernel& kernel, const Device& device) {
  return kernel.family == NattenBackend::kFlexFna ? parse_name<NattenBackend>(device.default_backend) : kernel.family;
}

}  // namespace

bool is_library(const std::string& kernel) {
  return std::find(kLibraries.begin(), kLibraries.end(), kernel) != kLibraries.end();
}

std::vector<std::string> timed_kernels() {
  std::vector<std::string> names;
  for (const NattenBackend backend : values_of<NattenBackend>())
    names.emplace_back(backend == NattenBackend::kFlexFna ? kFlexAttention : to_string(backend));
  for (const NattenBackend backend : values_of<NattenBackend>()) {
    if (backend != NattenBackend::kFlexFna) names.emplace_back(fmha_name(backend));
  }
  names.emplace_back(kOwn);
  names.emplace_back(kSequences);
  names.emplace_back("fmha");
  names.insert(names.end(), kLibraries.begin(), kLibraries.end());
  return names;
}

bool natten_runs(const std::string& kernel) {
  std::vector<std::string> names = timed_kernels();
  names.emplace_back(to_string(NattenBackend::kFlexFna));
  return kernel != kFlexAttention && kernel != kOwn && kernel != kSequences &&
         std::find(names.begin(), names.end(), kernel) != names.end();
}

TimedKernel timed_kernel(const std::string& name, const Device& device, const Catalog& catalog) {
  if (const AttentionKernel* own = kernel_of_file(catalog, name))
    return {.name = name, .family = NattenBackend::kFlexFna, .longest_first = own->longest_first, .own = own};
  if (is_library(name)) return library(name.c_str());
  if (name == kSequences)
    return {.name = name, .dense = true, .library = true, .longest_first = true, .sequences = true};
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
  throw UnknownName("kernel", name, closest_name(name, timed_kernels()), joined(timed_kernels()) + ", or a kernel file (FILE.json)");
}

std::optional<std::string> natten_fmha(const TimeQuestion& question, const Device& device,
                                       const Catalog& catalog) {
  const std::optional<std::int64_t> capability = compute_capability(device);
  if (!capability || catalog.natten.empty()) return std::nullopt;
  NattenCall call;
  call.input = call.window = {product(input_of(question.mask), "tokens")};
  call.batch = question.sizes.batch;
  call.heads = question.sizes.heads;
  call.heads_kv = question.sizes.heads_kv;
  call.head_dim = question.sizes.head_dim;
  call.head_dim_value = question.sizes.head_dim_value;
  call.dtype = question.dtype;
  call.compute_capability = *capability;
  call.requires_grad = question.pass == Walk::kBackward;
  const NattenVerdict verdict = verdict_of(catalog.natten_release(question.natten), call);
  if (!verdict.dispatch || verdict.dispatch->fmha == NattenBackend::kFlexFna) return std::nullopt;
  return fmha_name(verdict.dispatch->fmha);
}

std::optional<TimedKernel> additional_kernel(const TimedKernel& kernel, const Device& device, CostCell cell,
                                             const Catalog& catalog) {
  const NattenBackend family = dense_family(kernel, device);
  cell.q_tile_tokens = cell.kv_tile_tokens = std::nullopt;
  std::optional<TimedKernel> best;
  CostOrigin origin = CostOrigin::kPhysical;
  for (const TimedKernel& dense : {fmha_of(family), library(kCudnn)}) {
    cell.kernel = dense.name;
    const auto found = costs_of_cell(cell, catalog);
    const auto* costs = std::get_if<KernelCosts>(&found);
    if (costs == nullptr) continue;
    const CostOrigin of_dense = costs->passes.front().evidence.origin;
    if (best && of_dense >= origin) continue;
    best = dense;
    origin = of_dense;
  }
  return best;
}

std::vector<TimedKernel> dense_kernels(const TimedKernel& kernel, const Device& device) {
  const NattenBackend family = dense_family(kernel, device), of_device = parse_name<NattenBackend>(device.default_backend);
  std::vector<TimedKernel> kernels = {fmha_of(family)};
  if (of_device != family) kernels.push_back(fmha_of(of_device));
  for (const char* name : kLibraries) kernels.push_back(library(name));
  return kernels;
}

double prior_value(const std::vector<CostPrior>& priors, const std::string& name, double absent) {
  const auto found =
      std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
  return found == priors.end() ? absent : found->value;
}

}  // namespace natten_sim::study
