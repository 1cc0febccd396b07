#include "index_input.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <natten_sim/core/error.hpp>

#include "values.hpp"

namespace natten_sim::cli {

DistributionArgument parse_distribution(const std::string& text) {
  DistributionArgument argument{text, UniformRows{}, std::nullopt};
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool has_value = colon != std::string::npos;
  const std::string value = has_value ? text.substr(colon + 1) : "";
  if (kind == "uniform" && !has_value) return argument;
  if (kind == "zipf" && has_value) {
    argument.distribution = ZipfRows{
        parse_number("distribution", value, 0, kMaxZipfExponent, "zipf:S with an exponent S in 0..16")};
    return argument;
  }
  if (kind == "hot" && has_value) {
    argument.distribution = HotRows{parse_integer("distribution", value, 1, kMaxRows)};
    return argument;
  }
  if (kind == "file" && !value.empty()) {
    argument.path = value;
    return argument;
  }
  throw InvalidParameter("distribution", "'" + text + "'", "uniform, zipf:S, hot:K or file:PATH");
}

std::unique_ptr<IndexStream> open_index_file(const std::string& path, std::int64_t rows) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidParameter("distribution", path, "a file, this is a directory");
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (!file)
    throw InvalidParameter("distribution", path, std::string("a readable file: ") + std::strerror(errno));
  const std::string extension = std::filesystem::path(path).extension().string();
  const IndexFormat format = extension == ".npy"                          ? IndexFormat::kNpy
                             : extension == ".csv" || extension == ".txt" ? IndexFormat::kCsv
                                                                          : IndexFormat::kRaw;
  return parse_indices(
      [file, path](std::span<char> buffer) {
        const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
        if (std::ferror(file.get()) != 0)
          throw InvalidParameter("distribution", path, "a file that can be read to its end");
        return got;
      },
      format, rows, path);
}

}  // namespace natten_sim::cli
