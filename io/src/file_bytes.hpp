#pragma once

#include <string>

#include <natten_sim/io/index_file.hpp>

namespace natten_sim {

/// The bytes of a file, read as they are asked for.
/// @throws InvalidParameter naming `parameter` when it cannot be opened, or later when it cannot be read.
[[nodiscard]] ByteSource open_bytes(const std::string& parameter, const std::string& path);

}  // namespace natten_sim
