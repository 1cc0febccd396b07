#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <natten_sim/core/trace_access.hpp>

namespace natten_sim {

/// Reads `ADDRESS [BYTES]` a line, decimal or 0x.., separated by blanks or a comma; `#` begins a comment,
/// empty lines are skipped. It reads a line at a time, so memory does not grow with the file. `-` is standard
/// input. `progress` gets 0..1 where the size of the file is known.
/// @throws InvalidParameter when the file cannot be read; MalformedData naming the line.
void read_trace(const std::string& path, const std::function<void(const TraceAccess&)>& visit,
                const std::function<void(double)>& progress);

}  // namespace natten_sim
