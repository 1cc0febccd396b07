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
};

/// The name of doing nothing.
inline constexpr const char* kAsIs = "as-is";

/// The load as it is (kAsIs) and with each remedy that the architecture has for it, fastest first; equal ones
/// in the order in which they are named here:
/// - fp32-accumulator: fp32 reductions into a buffer of its own, zeroed before and converted after;
/// - vector, packed-x2: native vector or packed forms of the same type, from the lowering table;
/// - relaxed-ordering: what a relaxed atomic of a compiler that knows packed forms becomes;
/// - warp-, block-, sort-pre-reduction: fewer updates reach memory, at a cost for each element;
/// - private-copies-8: eight destinations, zeroed before and added up afterwards. A CTA takes the copy of its
///   number, so rows that updates visit in turn (`turn_rows`) may meet one copy only.
/// On a device with RemedyCosts, zeroing, adding up and sorting cost what this project's kernels took there:
/// a sort is its launches, and a time for each update, each 32 elements that are summed or written, and each
/// 64 updates of the hottest row, which one thread joins. Other devices have `costs`.
/// `table_rows` is the number of rows of the destination. @throws as predict_contention.
[[nodiscard]] std::vector<Remedy> compare_remedies(const ScatterLoad& load, std::int64_t table_rows,
                                                   const ContentionProfile& profile,
                                                   const std::vector<Lowering>& table,
                                                   std::string_view architecture,
                                                   const PreReductionCosts& costs);

}  // namespace natten_sim
