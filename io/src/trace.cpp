#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/trace.hpp>

namespace natten_sim {
namespace {

constexpr std::size_t kMaxLineBytes = 256;
constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxAccessBytes = std::uint64_t{1} << 20;

class LineParser {
 public:
  LineParser(std::string_view line, std::int64_t number, const std::string& path)
      : line_(line.substr(0, line.find('#'))), number_(number), path_(path) {}

  [[nodiscard]] bool blank() {
    at_ = line_.find_first_not_of(" \t\r,", at_);
    return at_ == std::string_view::npos;
  }
  std::uint64_t next(const char* what, std::uint64_t lo, std::uint64_t hi) {
    const bool hexadecimal = line_.substr(at_).starts_with("0x") || line_.substr(at_).starts_with("0X");
    const char* begin = line_.data() + at_ + (hexadecimal ? 2 : 0);
    const char* end = line_.data() + line_.size();
    std::uint64_t value = 0;
    const auto [stop, problem] = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
    const bool whole = stop == end || std::strchr(" \t\r,", *stop) != nullptr;
    if (problem != std::errc() || !whole || value < lo || value > hi) fail(what);
    at_ = static_cast<std::size_t>(stop - line_.data());
    return value;
  }
  [[noreturn]] void fail(const char* what) const {
    throw MalformedData("trace " + path_ + ", line " + std::to_string(number_), what,
                        "ADDRESS [BYTES]: an address below 2^62 and a size of 1..1048576, decimal or 0x..");
  }

 private:
  std::string_view line_;
  std::int64_t number_;
  const std::string& path_;
  std::size_t at_ = 0;
};

void parse_line(std::string_view line, std::int64_t number, const std::string& path,
                const std::function<void(const TraceAccess&)>& visit) {
  LineParser parser(line, number, path);
  if (parser.blank()) return;
  TraceAccess access;
  access.address = parser.next("not an address", 0, kMaxAddress);
  if (!parser.blank())
    access.bytes = static_cast<std::int64_t>(parser.next("not a size", 1, kMaxAccessBytes));
  if (!parser.blank()) parser.fail("more than an address and a size");
  visit(access);
}

}  // namespace

void read_trace(const std::string& path, const std::function<void(const TraceAccess&)>& visit,
                const std::function<void(double)>& progress) {
  require_path("trace", path);
  std::error_code unknown;
  if (path != "-" && std::filesystem::is_directory(path, unknown))
    throw InvalidParameter("trace", path, "a readable file, this is a directory");
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin : open_stream("trace", path));
  if (!file) throw InvalidParameter("trace", path, std::string("a readable file: ") + std::strerror(errno));
  const auto size = path == "-" ? 0.0 : static_cast<double>(std::filesystem::file_size(path, unknown));
  std::string buffer(1 << 16, '\0');
  std::string partial;
  std::int64_t number = 1;
  double read = 0;
  const auto take = [&](std::string_view part) {
    if (partial.size() + part.size() > kMaxLineBytes)
      LineParser("", number, path).fail("longer than 256 characters");
    partial += part;
  };
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    std::string_view chunk(buffer.data(), got);
    if (read == 0 && chunk.starts_with(kByteOrderMark)) chunk.remove_prefix(kByteOrderMark.size());
    for (std::size_t end = 0; (end = chunk.find('\n')) != std::string_view::npos;) {
      if (partial.empty() && end <= kMaxLineBytes) {
        parse_line(chunk.substr(0, end), number, path, visit);
      } else {
        take(chunk.substr(0, end));
        parse_line(partial, number, path, visit);
        partial.clear();
      }
      ++number;
      chunk.remove_prefix(end + 1);
    }
    take(chunk);
    read += static_cast<double>(got);
    if (progress && size > 0 && !unknown) progress(read < size ? read / size : 1.0);
  }
  if (std::ferror(file.get()) != 0)
    throw InvalidParameter("trace", path, "a file that can be read to its end");
  parse_line(partial, number, path, visit);
}

}  // namespace natten_sim
