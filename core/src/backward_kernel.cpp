#include <algorithm>

#include <natten_sim/core/backward_kernel.hpp>
#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

/// Devices may spell theirs sm_90a.
bool runs_on(const BackwardKernel& kernel, const Device& device) {
  const std::optional<std::int64_t> capability = compute_capability(device);
  if (!capability) return false;
  const std::string architecture = "sm" + std::to_string(*capability);
  return std::find(kernel.architectures.begin(), kernel.architectures.end(), architecture) !=
         kernel.architectures.end();
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

const KernelTiles* BackwardKernel::tiles_of(std::int64_t head_dim, MaskClass mask) const {
  for (const KernelTiles& each : tiles) {
    if (each.head_dims.contain(head_dim) &&
        std::find(each.masks.begin(), each.masks.end(), mask) != each.masks.end())
      return &each;
  }
  return nullptr;
}

std::string BackwardKernel::head_dim_text() const {
  std::vector<HeadDims> ranges;
  for (const KernelTiles& each : tiles) {
    if (!ranges.empty() && each.head_dims.least <= ranges.back().most + 1) {
      ranges.back().most = std::max(ranges.back().most, each.head_dims.most);
    } else {
      ranges.push_back(each.head_dims);
    }
  }
  std::vector<std::string> texts;
  for (const HeadDims& range : ranges) {
    texts.push_back(range.least == range.most
                        ? std::to_string(range.least)
                        : std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  return joined(texts);
}

std::vector<std::string> Catalog::backward_kernel_names() const {
  std::vector<std::string> names;
  for (const BackwardKernel& kernel : backward_kernels) add_once(names, kernel.name);
  return names;
}

const BackwardKernel& Catalog::backward_kernel(std::string_view name, const Device& device) const {
  const std::size_t at = name.find('@');
  const std::string_view plain = name.substr(0, at);
  std::vector<std::string> releases, architectures, others;
  for (const BackwardKernel& kernel : backward_kernels) {
    const bool here = runs_on(kernel, device);
    if (kernel.name != plain) {
      if (here) add_once(others, kernel.name);
      continue;
    }
    add_once(releases, kernel.full_name());
    if (at != std::string_view::npos && kernel.release != name.substr(at + 1)) continue;
    if (here) return kernel;
    for (const std::string& architecture : kernel.architectures) add_once(architectures, architecture);
  }
  if (releases.empty()) {
    const std::vector<std::string> names = backward_kernel_names();
    throw UnknownName("kernel", std::string(name), closest_name(plain, names), joined(names));
  }
  if (architectures.empty())
    throw UnknownName("kernel", std::string(name), closest_name(name, releases), joined(releases));
  throw InvalidParameter("kernel", std::string(name) + " on " + device.name + " (" + device.architecture + ")",
                         "a device of " + joined(architectures) + "; on " + device.architecture + " there " +
                             (others.empty() ? "is no kernel" : "are " + joined(others)));
}

}  // namespace natten_sim
