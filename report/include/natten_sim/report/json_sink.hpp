#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

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

/// Appends the members of an object to a text, which its owner brackets. Keys have up to 48 characters.
class JsonMembers {
 public:
  explicit JsonMembers(std::string& text) : text_(text) {}

  template <std::integral T>
  requires(!std::same_as<T, bool>) void put(std::string_view key, T value) {
    Piece piece;
    begin(key, piece);
    piece.end = std::to_chars(piece.end, piece.text + sizeof piece.text, value).ptr;
    append(piece);
  }
  void put(std::string_view key, Int128 value);
  void put(std::string_view key, double value);
  void put(std::string_view key, bool value) { put_raw(key, value ? "true" : "false"); }
  /// Up to 48 printable ASCII characters without quotes and backslashes, as names are.
  void put(std::string_view key, const char* name);
  void put(std::string_view key, const std::string& any);
  void put(std::string_view key, const Extents& value);
  void null(std::string_view key) { put_raw(key, "null"); }
  void put_json(std::string_view key, const Json& value) { put_raw(key, json_text(value)); }
  /// A value that is JSON already.
  void put_raw(std::string_view key, std::string_view json);
  template <typename Write>
  void object(std::string_view key, const Write& write) {
    put_raw(key, "{");
    JsonMembers sink(text_);
    write(sink);
    text_ += '}';
  }

 private:
  /// One member, put together here so that the text grows once.
  struct Piece {
    char text[192];
    char* end = text;
  };

  void begin(std::string_view key, Piece& piece) {
    if (!first_) *piece.end++ = ',';
    first_ = false;
    *piece.end++ = '"';
    std::memcpy(piece.end, key.data(), key.size());
    piece.end += key.size();
    *piece.end++ = '"';
    *piece.end++ = ':';
  }
  void append(const Piece& piece) {
    text_.append(piece.text, static_cast<std::size_t>(piece.end - piece.text));
  }

  std::string& text_;
  bool first_ = true;
};

}  // namespace natten_sim::report
