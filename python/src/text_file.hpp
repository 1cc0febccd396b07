#pragma once

#include <string>

namespace natten_sim::python {

/// The whole of a file. @throws InvalidParameter naming `parameter` when it cannot be read.
[[nodiscard]] std::string read_text_file(const std::string& parameter, const std::string& path);

}  // namespace natten_sim::python
