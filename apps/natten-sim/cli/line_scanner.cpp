#include "cli/line_scanner.hpp"

#include <algorithm>
#include <cstring>

namespace natten_sim::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Control characters and bytes beyond ASCII are left to the full parser.
bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f && c != '\\';
}

}  // namespace

LineScanner::LineScanner(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {
  if (!take('{')) odd_ = true;
}

void LineScanner::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
}

bool LineScanner::take(char wanted) {
  skip_space();
  if (at_ == end_ || *at_ != wanted) return false;
  ++at_;
  return true;
}

bool LineScanner::take_word(std::string_view word) {
  if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0)
    return false;
  at_ += word.size();
  return true;
}

bool LineScanner::read_text(std::string_view& text) {
  if (!take('"')) return false;
  const char* begin = at_;
  while (at_ != end_ && *at_ != '"') {
    if (!is_plain(*at_)) return false;
    ++at_;
  }
  if (at_ == end_) return false;
  text = {begin, static_cast<std::size_t>(at_ - begin)};
  ++at_;
  return true;
}

/// Up to 18 digits, so that it fits; a fraction or an exponent follows no integer.
bool LineScanner::read_integer(std::int64_t& value) {
  const bool negative = at_ != end_ && *at_ == '-';
  if (negative) ++at_;
  const char* begin = at_;
  while (at_ != end_ && is_digit(*at_)) ++at_;
  const auto digits = at_ - begin;
  constexpr std::ptrdiff_t kMostDigits = 18;
  if (digits == 0 || digits > kMostDigits || (digits > 1 && *begin == '0')) return false;
  if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return false;
  value = 0;
  for (const char* digit = begin; digit != at_; ++digit) value = 10 * value + (*digit - '0');
  if (negative) value = -value;
  return true;
}

bool LineScanner::read_scalar(std::int64_t& value, bool& boolean) {
  boolean = at_ != end_ && (*at_ == 't' || *at_ == 'f');
  if (!boolean) return read_integer(value);
  value = *at_ == 't' ? 1 : 0;
  return take_word(value == 1 ? "true" : "false");
}

bool LineScanner::read_array(LineMember& member) {
  ++at_;
  std::size_t count = 0;
  bool boolean = false;
  while (true) {
    skip_space();
    bool is_boolean = false;
    if (count == kMostPlain || !read_scalar(values_[count], is_boolean)) return false;
    if (count > 0 && is_boolean != boolean) return false;
    boolean = is_boolean;
    ++count;
    if (take(']')) break;
    if (!take(',')) return false;
  }
  member.kind = LineMember::Kind::kPlain;
  member.plain = {.is_boolean = boolean, .values = {values_.data(), count}};
  return true;
}

bool LineScanner::skip_structure() {
  std::int64_t depth = 0;
  bool in_text = false;
  for (; at_ != end_; ++at_) {
    if (in_text) {
      if (*at_ == '\\' && at_ + 1 != end_)
        ++at_;
      else if (*at_ == '"')
        in_text = false;
    } else if (*at_ == '"') {
      in_text = true;
    } else if (*at_ == '{' || *at_ == '[') {
      ++depth;
    } else if ((*at_ == '}' || *at_ == ']') && --depth == 0) {
      ++at_;
      return true;
    }
  }
  return false;
}

bool LineScanner::skip_number() {
  const char* begin = at_;
  while (at_ != end_ && (is_digit(*at_) || std::strchr("+-.eE", *at_) != nullptr) && *at_ != '\0') ++at_;
  return at_ != begin;
}

bool LineScanner::read_value(LineMember& member) {
  skip_space();
  if (at_ == end_) return false;
  const char* begin = at_;
  bool read = false, boolean = false;
  if (*at_ == '"') {
    member.kind = LineMember::Kind::kText;
    return read_text(member.value);
  }
  if (*at_ == '{' || *at_ == '[') {
    read = *at_ == '[' && read_array(member);
    if (!read) {
      at_ = begin;
      member.kind = LineMember::Kind::kStructure;
      read = skip_structure();
    }
  } else if (*at_ == 'n') {
    member.kind = LineMember::Kind::kNull;
    read = take_word("null");
  } else if (read_scalar(values_[0], boolean)) {
    member.kind = LineMember::Kind::kPlain;
    member.plain = {.is_boolean = boolean, .values = {values_.data(), 1}};
    read = true;
  } else {
    at_ = begin;
    member.kind = LineMember::Kind::kNumber;
    read = skip_number();
  }
  member.value = {begin, static_cast<std::size_t>(at_ - begin)};
  return read;
}

bool LineScanner::next(LineMember& member) {
  if (odd_) return false;
  if (take('}')) {
    skip_space();
    return at_ == end_ ? false : fail();
  }
  if (!first_ && !take(',')) return fail();
  first_ = false;
  skip_space();
  if (!read_text(member.key) || !take(':') || !read_value(member)) return fail();
  return true;
}

}  // namespace natten_sim::cli
