// Index streams from files: NumPy arrays, text, raw integers.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/index_file.hpp>

#include "file_bytes.hpp"
#include "npy_header.hpp"

namespace natten_sim {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as little-endian");

constexpr const char* kIntegers = "row numbers from 0 to below the number of rows";

std::int64_t checked_row(std::int64_t row, std::int64_t rows, std::int64_t position,
                         const std::string& where) {
  if (row >= 0 && row < rows) return row;
  throw MalformedData(where, "index " + std::to_string(position) + " is " + std::to_string(row),
                      "rows in 0.." + std::to_string(rows - 1));
}

/// Elements of a fixed size, converted one by one.
class BinaryStream final : public IndexStream {
 public:
  BinaryStream(ByteSource bytes, char kind, std::size_t size, std::int64_t count, std::int64_t rows,
               std::string where)
      : bytes_(std::move(bytes)),
        kind_(kind),
        size_(size),
        count_(count),
        rows_(rows),
        where_(std::move(where)) {}

  std::size_t read(std::span<std::int64_t> rows) override {
    std::size_t wanted = rows.size();
    if (count_ >= 0) wanted = std::min(wanted, static_cast<std::size_t>(count_ - next_));
    if (wanted == 0) {
      char extra = 0;
      if (count_ >= 0 && !done_ && bytes_({&extra, 1}) > 0)
        throw MalformedData(where_, "bytes behind the last element", "as many as the header promises");
      done_ = true;
      return 0;
    }
    buffer_.resize(wanted * size_);
    const std::size_t got = bytes_(buffer_);
    if (got % size_ != 0 || (count_ >= 0 && got < buffer_.size())) {
      throw MalformedData(
          where_,
          "truncated behind " + std::to_string(next_ + static_cast<std::int64_t>(got / size_)) + " elements",
          count_ >= 0 ? std::to_string(count_) + " elements, as the header promises"
                      : "a multiple of 8 bytes");
    }
    for (std::size_t i = 0; i < got / size_; ++i) rows[i] = element(buffer_.data() + i * size_);
    return got / size_;
  }

 private:
  template <typename T>
  static T load(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  std::int64_t element(const char* bytes) {
    const std::int64_t position = next_++;
    if (kind_ == 'f') {
      const double value = size_ == 4 ? static_cast<double>(load<float>(bytes)) : load<double>(bytes);
      if (!std::isfinite(value) || value != std::floor(value) || std::abs(value) > 0x1.0p62) {
        throw MalformedData(where_,
                            "index " + std::to_string(position) + " is " +
                                (std::isnan(value) ? "NaN" : std::to_string(value)),
                            kIntegers);
      }
      return checked_row(static_cast<std::int64_t>(value), rows_, position, where_);
    }
    const bool is_signed = kind_ == 'i';
    std::int64_t value = 0;
    switch (size_) {
      case 1:
        value = is_signed ? load<std::int8_t>(bytes) : load<std::uint8_t>(bytes);
        break;
      case 2:
        value = is_signed ? load<std::int16_t>(bytes) : load<std::uint16_t>(bytes);
        break;
      case 4:
        value = is_signed ? load<std::int32_t>(bytes) : static_cast<std::int64_t>(load<std::uint32_t>(bytes));
        break;
      default:
        value = load<std::int64_t>(bytes);  // u8 beyond 2^63 turns negative and is refused
    }
    return checked_row(value, rows_, position, where_);
  }

  ByteSource bytes_;
  char kind_;
  std::size_t size_;
  std::int64_t count_, rows_, next_ = 0;
  std::string where_;
  std::vector<char> buffer_;
  bool done_ = false;
};

constexpr std::size_t kMaxSeparators = 1 << 20;  // in a row

class TextStream final : public IndexStream {
 public:
  TextStream(ByteSource bytes, std::int64_t rows, std::string where)
      : bytes_(std::move(bytes)), rows_(rows), where_(std::move(where)), buffer_(1 << 16) {}

  std::size_t read(std::span<std::int64_t> rows) override {
    std::size_t count = 0;
    while (count < rows.size() && next_word()) rows[count++] = value();
    return count;
  }

 private:
  static bool separates(char c) {
    return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }
  /// -1 at the end.
  int next_char() {
    while (at_ == end_) {
      at_ = 0;
      end_ = bytes_(buffer_);
      if (end_ == 0) return -1;
      const bool marked = std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark);
      if (marked && !begun_) at_ = kByteOrderMark.size();
      begun_ = true;
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  bool next_word() {
    word_.clear();
    std::size_t separators = 0;  // of a stream of nothing else, which may have no end
    for (int c = next_char(); c >= 0; c = next_char()) {
      if (!separates(static_cast<char>(c))) {
        word_ += static_cast<char>(c);
        if (word_.size() > 40) refuse();
      } else if (!word_.empty()) {
        return true;
      } else if (++separators > kMaxSeparators) {
        throw MalformedData(where_, "more than 1048576 separators before value " + std::to_string(next_),
                            kIntegers);
      }
    }
    return !word_.empty();
  }
  [[noreturn]] void refuse() const {
    throw MalformedData(where_, "value " + std::to_string(next_) + " is '" + printable(word_) + "'",
                        kIntegers);
  }
  std::int64_t value() {
    std::int64_t row = 0;
    const auto [end, error] = std::from_chars(word_.data(), word_.data() + word_.size(), row);
    if (error != std::errc() || end != word_.data() + word_.size()) refuse();
    return checked_row(row, rows_, next_++, where_);
  }

  ByteSource bytes_;
  std::int64_t rows_, next_ = 0;
  std::string where_, word_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  bool begun_ = false;
};

std::unique_ptr<IndexStream> open_npy(ByteSource bytes, std::int64_t rows, std::string where) {
  const NpyHeader array = read_npy_header(bytes, where);
  if (array.kind == 'b') throw MalformedData(where, "booleans", "numbers of rows");
  return std::make_unique<BinaryStream>(std::move(bytes), array.kind, array.bytes, array.elements, rows,
                                        std::move(where));
}

}  // namespace

std::unique_ptr<IndexStream> parse_indices(ByteSource bytes, IndexFormat format, std::int64_t rows,
                                           std::string where) {
  if (rows < 1 || rows > kMaxRows)
    throw InvalidParameter("rows", std::to_string(rows), "1.." + std::to_string(kMaxRows));
  switch (format) {
    case IndexFormat::kNpy:
      return open_npy(std::move(bytes), rows, std::move(where));
    case IndexFormat::kCsv:
      return std::make_unique<TextStream>(std::move(bytes), rows, std::move(where));
    case IndexFormat::kRaw:
      break;
  }
  return std::make_unique<BinaryStream>(std::move(bytes), 'i', 8, -1, rows, std::move(where));
}

IndexFormat index_format_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".npy") return IndexFormat::kNpy;
  return extension == ".csv" || extension == ".txt" ? IndexFormat::kCsv : IndexFormat::kRaw;
}

namespace {

/// A stream of a file, beside how much of the file it has asked for.
class FileStream final : public IndexStream {
 public:
  /// @param bytes_read what `stream` has taken, kept up to date @param size 0: not known
  FileStream(std::unique_ptr<IndexStream> stream, std::shared_ptr<const double> bytes_read, double size)
      : stream_(std::move(stream)), bytes_read_(std::move(bytes_read)), size_(size) {}
  std::size_t read(std::span<std::int64_t> rows) override { return stream_->read(rows); }
  std::optional<double> share_read() const override {
    if (size_ <= 0) return std::nullopt;
    return std::min(1.0, *bytes_read_ / size_);
  }

 private:
  std::unique_ptr<IndexStream> stream_;
  std::shared_ptr<const double> bytes_read_;
  double size_;
};

}  // namespace

std::unique_ptr<IndexStream> open_index_file(const std::string& parameter, const std::string& path,
                                             std::int64_t rows) {
  const auto bytes_read = std::make_shared<double>(0);
  std::unique_ptr<IndexStream> stream = parse_indices(
      [bytes = open_bytes(parameter, path), bytes_read](std::span<char> buffer) {
        const std::size_t got = bytes(buffer);
        *bytes_read += static_cast<double>(got);
        return got;
      },
      index_format_of(path), rows, path);
  std::error_code unknown;  // a pipe or device has no size
  const auto size = static_cast<double>(std::filesystem::file_size(path, unknown));
  return std::make_unique<FileStream>(std::move(stream), bytes_read, unknown ? 0 : size);
}

}  // namespace natten_sim
