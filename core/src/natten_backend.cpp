#include <natten_sim/core/natten_backend.hpp>

namespace natten_sim {

const char* fmha_name(NattenBackend backend) noexcept {
  switch (backend) {
    case NattenBackend::kHopperFna:
      return "hopper-fmha";
    case NattenBackend::kBlackwellFna:
      return "blackwell-fmha";
    case NattenBackend::kCutlassFna:
      return "cutlass-fmha";
    case NattenBackend::kFlexFna:
      return "flex-fmha";
  }
  return "";
}

bool takes_dense_path(const Extents& input, const Extents& window, const PerAxis<bool>& causal,
                      bool additional_keys) noexcept {
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    if (input[axis] != window[axis]) return false;
  }
  if (input.rank() == 1 && !additional_keys) return true;
  for (const bool axis_is_causal : causal) {
    if (axis_is_causal) return false;
  }
  return true;
}

}  // namespace natten_sim
