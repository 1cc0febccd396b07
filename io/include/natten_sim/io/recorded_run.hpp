#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natten_sim {

/// When a kernel that ran a schedule table did one of its tasks, in nanoseconds from the earliest `ready` on.
struct RecordedTask {
  std::int32_t head = 0, q_tile = 0, kv_tile = 0;
  std::int32_t worker = 0;
  double ready_ns = 0;  ///< its part of dQ had been computed
  double turn_ns = 0;   ///< its turn had come, and its addition started
  double end_ns = 0;    ///< its addition was complete
};

/// A line a task below the header `head,q_tile,kv_tile,worker,ready_ns,turn_ns,end_ns`, as
/// `attention_backward_bench record` writes them. `where` names the text in errors.
/// @throws MalformedData naming the line.
[[nodiscard]] std::vector<RecordedTask> parse_recorded_run(std::string_view csv, const std::string& where);

}  // namespace natten_sim
