#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <natten_sim/io/plain_value.hpp>

namespace natten_sim::cli {

/// A member of the object on a line.
struct LineMember {
  enum class Kind { kPlain, kText, kNull, kNumber, kStructure };

  std::string_view key;
  std::string_view value;  ///< its JSON text; of a text, without the quotes
  Kind kind = Kind::kNull;
  PlainValue plain;  ///< of kPlain, valid until the next member
};

/// Walks the members of a JSON object in one pass, in the plain spelling that programs write: no escapes in
/// strings. Whatever it cannot read so makes it `odd`, and a full parser has to say what it is. Structures
/// (objects, arrays that are not plain) are skipped by their brackets: who uses one has to check it.
class LineScanner {
 public:
  explicit LineScanner(std::string_view line);

  /// False at the end of the object, and when the line is odd.
  bool next(LineMember& member);
  [[nodiscard]] bool odd() const { return odd_; }

 private:
  static constexpr std::size_t kMostPlain = 8;

  bool fail() {
    odd_ = true;
    return false;
  }
  void skip_space();
  bool take(char wanted);
  bool take_word(std::string_view word);
  bool read_text(std::string_view& text);
  bool read_integer(std::int64_t& value);
  bool read_scalar(std::int64_t& value, bool& boolean);
  bool read_array(LineMember& member);
  bool skip_structure();
  bool skip_number();
  bool read_value(LineMember& member);

  const char* at_;
  const char* end_;
  std::array<std::int64_t, kMostPlain> values_{};
  bool odd_ = false;
  bool first_ = true;
};

}  // namespace natten_sim::cli
