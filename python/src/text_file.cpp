#include "text_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <natten_sim/core/error.hpp>

namespace natten_sim::python {

std::string read_text_file(const std::string& parameter, const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))
    throw InvalidParameter(parameter, path, "a readable file");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace natten_sim::python
