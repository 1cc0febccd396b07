#pragma once

#include <cmath>
#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/scatter/contention.hpp>

namespace natten_sim {

inline std::int64_t row_bytes(const ScatterLoad& load) {
  return checked_multiply(load.width, element_bytes(load.type), "row_bytes");
}

inline std::int64_t sectors_per_row(const ScatterLoad& load) {
  return ceil_divide(row_bytes(load), kSectorBytes);
}

/// Rounds an estimate. One that does not fit in an integer is an overflow.
inline std::int64_t to_count(double value, const char* quantity) {
  if (!(value < 9.2e18)) throw OverflowError(quantity);
  return std::llround(value);
}

/// Share of the hottest row's updates that change it.
inline double changing_share_of(const ScatterLoad& load) {
  return changing_share(
      load.type, load.values,
      checked_multiply(load.prior_runs, load.max_multiplicity, "prior updates of the hottest address"),
      load.max_multiplicity);
}

}  // namespace natten_sim
