#include "npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <span>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader read() {
    expect('{');
    while (!take('}')) {
      const std::string key(quoted());
      if (!seen_.insert(key).second) refuse("the header names '" + printable(key) + "' twice");
      expect(':');
      value(key);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ < text_.size() || seen_.size() != 3) ill_formed();
    return header_;
  }

 private:
  [[noreturn]] void refuse(const std::string& found, const char* accepted = "a NumPy file (.npy)") const {
    throw MalformedData(where_, found, accepted);
  }
  [[noreturn]] void ill_formed() const {
    refuse("the header is not a dictionary of descr, fortran_order and shape");
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) ill_formed();
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view quoted() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) ill_formed();
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }

  void value(std::string_view key) {
    if (key == "descr") {
      type();
    } else if (key == "fortran_order") {
      fortran_ = take_word("True");
      if (!fortran_ && !take_word("False")) ill_formed();
    } else if (key == "shape") {
      shape();
    } else {
      ill_formed();
    }
    header_.fortran_order = fortran_ && header_.shape.size() > 1;
  }
  void type() {
    const std::string_view name = quoted();
    const bool known =
        name.size() == 3 && (name[0] == '<' || name[0] == '|') &&
        (name[1] == 'b'   ? name[2] == '1'
         : name[1] == 'f' ? name[2] == '4' || name[2] == '8'
                        : (name[1] == 'i' || name[1] == 'u') &&
                              std::string_view("1248").find(name[2]) != std::string_view::npos);
    if (!known) {
      refuse("elements of type '" + printable(name.substr(0, 40)) + "'",
             "little-endian b1, i1..i8, u1..u8, f4 or f8");
    }
    header_.kind = name[1];
    header_.bytes = static_cast<std::size_t>(name[2] - '0');
  }
  void shape() {
    expect('(');
    header_.elements = 1;
    bool comma = true;  // (4) is a number in Python, (4,) a tuple
    while (!take(')')) {
      if (!comma) ill_formed();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (end == begin || extent < 0 || (*begin == '0' && end - begin > 1)) ill_formed();
      at_ += static_cast<std::size_t>(end - begin);
      header_.shape.push_back(extent);
      if (error != std::errc() || __builtin_mul_overflow(header_.elements, extent, &header_.elements))
        refuse("the shape is too large", "fewer than 2^63 elements");
      comma = take(',');
    }
    if (header_.shape.size() == 1 && !comma) ill_formed();
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::set<std::string> seen_;
  bool fortran_ = false;
  NpyHeader header_;
};

void read_exactly(const ByteSource& bytes, std::span<char> buffer, const std::string& where) {
  if (bytes(buffer) != buffer.size())
    throw MalformedData(where, "truncated within the header", "a NumPy file (.npy)");
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text(bytes);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
  return HeaderReader(text, where).read();
}

NpyHeader read_npy_header(const ByteSource& bytes, const std::string& where) {
  char start[8];
  read_exactly(bytes, start, where);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3 || start[7] != 0)
    throw MalformedData(where, "does not start like one", "a NumPy file (.npy), version 1 to 3");
  unsigned char length_bytes[4] = {};
  read_exactly(
      bytes, {reinterpret_cast<char*>(length_bytes), start[6] == 1 ? std::size_t{2} : std::size_t{4}}, where);
  std::uint32_t length = 0;
  std::memcpy(&length, length_bytes, 4);
  if (length > 65536)
    throw MalformedData(where, "a header of " + std::to_string(length) + " bytes", "at most 65536");
  std::string header(length, ' ');
  read_exactly(bytes, header, where);
  const NpyHeader array = parse_npy_header(header, where);
  if (array.fortran_order) throw MalformedData(where, "in Fortran order", "C order, or one axis");
  return array;
}

}  // namespace natten_sim
