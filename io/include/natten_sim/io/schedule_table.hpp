#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// The largest block mask as text, 512 MiB: 2^28 cells with a blank or line break behind each.
inline constexpr std::int64_t kMaxMaskBytes = std::int64_t{1} << 29;
/// The largest schedule table, 512 MiB: a mask of 2^28 cells, and as much for the orders of its tiles.
inline constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 29;

/// A schedule for a kernel to load, with the problem that it was made for. It has no costs.
struct ScheduleTable {
  BackwardProblem problem;
  BackwardSchedule schedule;
};

/// A block mask as text: one line a Q tile, one character a KV tile: `.` or `0` skipped, `+` partial, `#` or
/// `1` full. Blanks between characters, empty lines at the end and CR LF are accepted.
/// @throws MalformedData naming `where`, the line and the column: another character, lines of different
///         lengths, no cell at all, or more than 65,536 tiles an edge.
[[nodiscard]] BlockMask parse_block_mask(std::string_view text, const std::string& where);

/// The mask as such text, with `.`, `+` and `#`, one line for each Q tile.
[[nodiscard]] std::vector<std::string> block_mask_rows(const BlockMask& mask);

/// JSON of schema natten-sim.schedule-table/1, described in docs/schedule-tables.md; one chain and one dQ tile a
/// line. With merged heads natten-sim.schedule-table/2: chains of KV heads, whose Q order names heads.
/// `dq_order` null says that no reduction is ordered, dK/dV included.
[[nodiscard]] std::string to_json(const ScheduleTable& table);

/// Reads what to_json writes, and checks it whole: types, ranges, every chain once, every attended tile once
/// in its order. Deadlocks are found by running it. `where` names the text in messages.
/// @throws MalformedData on text that is not such a table (truncated, wrong schema, unknown or repeated
/// keys);
///         InvalidParameter on one whose contents contradict each other.
[[nodiscard]] ScheduleTable parse_schedule_table(std::string_view json, const std::string& where);

}  // namespace natten_sim
