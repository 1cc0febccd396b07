#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/models/scatter/contention.hpp>

namespace natten_sim {

struct Remedy {
  std::string name;
  double time_ns = 0;
  std::int64_t extra_bytes = 0;  ///< additional memory
  ContentionBound bound = ContentionBound::kIssue;
  friend bool operator<(const Remedy& a, const Remedy& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.name < b.name;
  }
};

/// The name of doing nothing.
inline constexpr const char* kAsIs = "as-is";

/// The load as it is (kAsIs) and with each remedy that the architecture has for it, fastest first:
/// - fp32-accumulator: fp32 reductions into a buffer of its own, zeroed before and converted after;
/// - packed-x2, vector: native packed or vector forms of the same type, from the lowering table;
/// - relaxed-ordering: what a relaxed atomic of a compiler that knows packed forms becomes;
/// - warp-, block-, sort-pre-reduction: fewer updates reach memory, at a cost for each element;
/// - private-copies-8: eight destinations, added up afterwards.
/// `table_rows` is the number of rows of the destination. @throws as predict_contention.
[[nodiscard]] std::vector<Remedy> compare_remedies(const ScatterLoad& load, std::int64_t table_rows,
                                                   const ContentionProfile& profile,
                                                   const std::vector<Lowering>& table,
                                                   std::string_view architecture,
                                                   const PreReductionCosts& costs);

}  // namespace natten_sim
