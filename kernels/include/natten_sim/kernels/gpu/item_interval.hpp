#pragma once

#include <cstdint>

namespace natten_sim::kernels {

/// When a CTA worked on an item (a Q tile), and where. Times are those of the GPU's global timer.
struct ItemInterval {
  std::uint64_t begin_ns = 0;  ///< its first loads have been asked for
  std::uint64_t end_ns = 0;    ///< its result has been stored
  std::uint32_t cta = 0;
  std::uint32_t sm = 0;
};

}  // namespace natten_sim::kernels
