#pragma once

#include <cstdint>

namespace natten_sim {

/// One access of a memory trace.
struct TraceAccess {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  ///< 0: not given
};

}  // namespace natten_sim
