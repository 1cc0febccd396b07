#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

// Where the fields of a `result` go. The functions that list fields take either sink, so that a line of a
// batch, written as text at once, and the object of --json are the same fields in the same order:
//
//     template <typename Sink>
//     void write_fields(const Counted& counted, Sink& sink) {
//       sink.put("visited_tiles", counted.visited_tiles);
//       sink.object("flops", [&](Sink& flops) { flops.put("dense", 1); });
//     }

/// Sets keys of a Json object.
class JsonTree {
 public:
  explicit JsonTree(Json& object) : object_(object) {}

  template <typename T>
  void put(const char* key, const T& value) {
    object_[key] = value;
  }
  void put(const char* key, const Extents& value) { object_[key] = to_json(value); }
  void put(const char* key, Int128 value) { object_[key] = wide_integer(value); }
  void put_json(const char* key, const Json& value) { object_[key] = value; }
  void null(const char* key) { object_[key] = nullptr; }
  template <typename Write>
  void object(const char* key, const Write& write) {
    Json& inner = object_[key] = Json::object();
    JsonTree sink(inner);
    write(sink);
  }

 private:
  Json& object_;
};

/// Appends the members of an object to a text, which its owner brackets. Members are put together in a buffer
/// and appended many at a time, the last ones by the destructor. Keys have up to 48 characters.
class JsonMembers {
 public:
  explicit JsonMembers(std::string& text) : text_(text) {}
  ~JsonMembers() { flush(); }
  JsonMembers(const JsonMembers&) = delete;
  JsonMembers& operator=(const JsonMembers&) = delete;

  template <std::integral T>
  requires(!std::same_as<T, bool>) void put(std::string_view key, T value) {
    begin(key);
    end_ = std::to_chars(end_, buffer_ + sizeof buffer_, value).ptr;
  }
  void put(std::string_view key, Int128 value);
  void put(std::string_view key, double value);
  void put(std::string_view key, bool value) { put_raw(key, value ? "true" : "false"); }
  /// Up to 48 printable ASCII characters without quotes and backslashes, as names are.
  void put(std::string_view key, const char* name);
  void put(std::string_view key, const std::string& any);
  void put(std::string_view key, const std::vector<std::string>& texts);
  void put(std::string_view key, const Extents& value);
  void null(std::string_view key) { put_raw(key, "null"); }
  void put_json(std::string_view key, const Json& value) { put_raw(key, json_text(value)); }
  /// A value that is JSON already.
  void put_raw(std::string_view key, std::string_view json);
  template <typename Write>
  void object(std::string_view key, const Write& write) {
    begin(key);
    *end_++ = '{';
    first_ = true;
    write(*this);
    if (room() == 0) flush();
    *end_++ = '}';
    first_ = false;
  }

 private:
  static constexpr std::size_t kLongestMember = 192;

  /// A number and where it stands in the buffer: what the mask needs the kernel often does, so that numbers
  /// come twice.
  struct Written {
    double value = 0;
    std::uint16_t at = 0, size = 0;
  };

  /// Makes room for a member of up to kLongestMember characters and writes its key.
  void begin(std::string_view key) {
    if (room() < kLongestMember) flush();
    if (!first_) *end_++ = ',';
    first_ = false;
    *end_++ = '"';
    append(key);
    *end_++ = '"';
    *end_++ = ':';
  }
  void append(std::string_view characters) {
    std::memcpy(end_, characters.data(), characters.size());
    end_ += characters.size();
  }
  void append_text(const std::string& text);
  [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(buffer_ + sizeof buffer_ - end_); }
  void flush() {
    text_.append(buffer_, static_cast<std::size_t>(end_ - buffer_));
    end_ = buffer_;
    numbers_ = 0;
  }

  std::string& text_;
  char buffer_[2048];
  char* end_ = buffer_;
  bool first_ = true;
  std::array<Written, 16> written_;
  std::size_t numbers_ = 0;  ///< of `written_`, in use
};

}  // namespace natten_sim::report
