#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <natten_sim/io/schedule_table.hpp>

namespace natten_sim {

inline constexpr std::int64_t kMaxSearchIterations = 1'000'000'000;

/// Where a search for a schedule stood when it was left.
struct SearchCheckpoint {
  std::int64_t iterations = 0;  ///< that it has done
  ScheduleTable best;
};

/// JSON of schema natten-sim.search-checkpoint/1: the iterations, and the best schedule's table.
[[nodiscard]] std::string to_json(const SearchCheckpoint& checkpoint);

/// Reads what to_json writes. @throws MalformedData, InvalidParameter: as parse_schedule_table.
[[nodiscard]] SearchCheckpoint parse_search_checkpoint(std::string_view json, const std::string& where);

}  // namespace natten_sim
