#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/mask.hpp>

namespace natten_sim {

/// The tokens of an axis that one of several GPUs has, and those that its queries attend to.
struct AxisSlab {
  TokenRange own;
  TokenRange attended;  ///< the fewest tokens in a row with all keys of `own`, and those of `own`
  TokenRange computed;  ///< `attended`, grown to whole strides: see split_axis()

  [[nodiscard]] std::int64_t own_tokens() const noexcept { return own.end - own.begin; }
  [[nodiscard]] std::int64_t halo_tokens() const noexcept {
    return attended.end - attended.begin - own_tokens();
  }
  [[nodiscard]] std::int64_t computed_tokens() const noexcept { return computed.end - computed.begin; }
};

/// The axis cut into `parts` slabs in a row, the longer ones first; lengths differ by one at most.
///
/// A kernel that knows nothing of the cut runs on `computed` as if it were the whole axis, and the results of the
/// queries outside of `own` are thrown away. Those of `own` have the windows that they have on the whole axis:
/// `computed` begins at a multiple of stride * dilation, so that stride groups and residue classes stay, and holds
/// every window in whole, so that none is shifted inwards that was not before. O(parts * dilation).
/// Requires a valid axis that is not cyclic.
/// @throws InvalidParameter when `parts` is not in 1..length.
[[nodiscard]] std::vector<AxisSlab> split_axis(const AxisMask& axis, std::int64_t parts);

}  // namespace natten_sim
