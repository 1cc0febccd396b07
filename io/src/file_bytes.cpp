#include "file_bytes.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim {

ByteSource open_bytes(const std::string& parameter, const std::string& path) {
  require_path(parameter, path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidParameter(parameter, path, "a file, this is a directory");
  const std::shared_ptr<std::FILE> file(open_stream(parameter, path), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (!file) throw InvalidParameter(parameter, path, std::string("a readable file: ") + std::strerror(errno));
  return [file, parameter, path](std::span<char> buffer) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (std::ferror(file.get()) != 0)
      throw InvalidParameter(parameter, path, "a file that can be read to its end");
    return got;
  };
}

}  // namespace natten_sim
