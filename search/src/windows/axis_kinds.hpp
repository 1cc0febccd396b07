#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

#include "windows/axis_memory.hpp"
#include "windows/axis_table.hpp"
#include "windows/pass_works.hpp"

namespace natten_sim {

/// A window of a kind, with the smallest stride that has it, or with each.
struct KindMember {
  std::int64_t window = 0, attended = 0, stride = 0;
};

/// Options of one axis that take the same time whatever the other axes are.
struct AxisKind {
  PerPass<AxisWork> work;            ///< in the order of TimedChoice::passes
  std::vector<KindMember> members;   ///< by attended pairs
  [[nodiscard]] std::int64_t least_attended() const { return members.front().attended; }
  [[nodiscard]] std::int64_t most_attended() const { return members.back().attended; }
};

enum class KindStrides { kSmallest, kAll };

/// The kinds of the options in `table`, which are of `axis` under the tiles of `choice`; those that visit
/// least come first.
[[nodiscard]] std::vector<AxisKind> axis_kinds(const SearchSpace& space, const AxisTable& table,
                                               std::size_t axis, std::size_t tile_choice,
                                               const TimedChoice& choice, KindStrides strides, AxisMemory& memory);

}  // namespace natten_sim
