#include "commands/rows/row_source.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/index_file.hpp>
#include <natten_sim/report/scatter_report.hpp>

namespace natten_sim::cli {
namespace {

constexpr const char* kFilePrefix = "file:";
constexpr const char* kSources = "uniform, zipf:S, hot:K or file:PATH";

IndexFormat format_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".npy") return IndexFormat::kNpy;
  return extension == ".csv" || extension == ".txt" ? IndexFormat::kCsv : IndexFormat::kRaw;
}

std::unique_ptr<IndexStream> open_index_file(const std::string& parameter, const std::string& path,
                                             std::int64_t rows) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidParameter(parameter, path, "a file, this is a directory");
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (!file) throw InvalidParameter(parameter, path, std::string("a readable file: ") + std::strerror(errno));
  return parse_indices(
      [file, parameter, path](std::span<char> buffer) {
        const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
        if (std::ferror(file.get()) != 0)
          throw InvalidParameter(parameter, path, "a file that can be read to its end");
        return got;
      },
      format_of(path), rows, path);
}

}  // namespace

study::RowSource OptionValue<study::RowSource>::from_words(const std::string& name,
                                                           const std::vector<std::string>& words,
                                                           const About&) {
  const std::string& text = words.front();
  const std::string prefix = kFilePrefix;
  if (!text.starts_with(prefix) || text == prefix) return parse_index_distribution(text, name, kSources);
  const std::string path = text.substr(prefix.size());
  return study::GivenRows{text,
                          [name, path](std::int64_t rows) { return open_index_file(name, path, rows); }};
}

study::RowSource OptionValue<study::RowSource>::from_json(const std::string& key, const Json& value,
                                                          const About& about) {
  if (!value.is_string()) throw InvalidParameter(key, json_text(value), kSources);
  return from_words(key, {value.get<std::string>()}, about);
}

bool OptionValue<study::RowSource>::to_json(const study::RowSource& value, Json& out) {
  out = report::source_name(value);
  return true;
}

}  // namespace natten_sim::cli
