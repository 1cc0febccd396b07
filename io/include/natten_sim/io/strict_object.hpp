#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/json_text.hpp>

namespace natten_sim {

/// Accepted integers, both ends included.
struct IntegerRange {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
};

/// A number of an object, and the member that it goes to.
template <typename Target>
struct NumberField {
  const char* key;
  double Target::*member;
};

/// One JSON object of data/ or of a user's file, read strictly: unknown, missing and ill-typed keys are
/// refused with the place and the key. A key whose value is null counts as absent. Every member throws
/// MalformedData. Keeps a reference to the object.
class StrictObject {
 public:
  using Json = natten_sim::Json;

  /// Accepts any keys, for an object whose keys are names.
  StrictObject(const Json& object, std::string where);
  /// Accepts these keys and no others, so that a typo does not silently take a default.
  StrictObject(const Json& object, std::string where, const std::vector<std::string>& keys);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const Json& json() const { return object_; }
  /// The key is there and its value is not null.
  [[nodiscard]] bool has(const char* key) const;
  /// The key is there and its value is null.
  [[nodiscard]] bool is_null(const char* key) const;
  [[nodiscard]] const Json& at(const char* key) const;

  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text_or(const char* key, const std::string& fallback) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  [[nodiscard]] std::int64_t integer(const char* key, IntegerRange range = {}) const;
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t fallback,
                                        IntegerRange range = {}) const;
  [[nodiscard]] std::int32_t integer32(const char* key) const;
  [[nodiscard]] std::int32_t integer32_or(const char* key, std::int32_t fallback) const;
  /// An element of the array at `key`.
  [[nodiscard]] std::int32_t integer32_in(const Json& value, const char* key) const;
  [[nodiscard]] std::int64_t integer_in(const Json& value, const char* key, IntegerRange range = {}) const;
  /// A finite number.
  [[nodiscard]] double number(const char* key) const;
  template <typename Target, std::size_t kCount>
  void numbers(const NumberField<Target> (&fields)[kCount], Target& target) const {
    for (const NumberField<Target>& field : fields) target.*field.member = number(field.key);
  }
  [[nodiscard]] bool boolean(const char* key) const;
  [[nodiscard]] bool boolean_or(const char* key, bool fallback) const;
  [[nodiscard]] const Json& array(const char* key) const;
  [[nodiscard]] StrictObject object(const char* key, const std::vector<std::string>& keys) const;
  /// {"value", "measured", "source"}.
  [[nodiscard]] double sourced(const char* key) const;

  [[noreturn]] void fail(const char* key, const std::string& accepted) const;

 private:
  [[nodiscard]] std::string text_in(const Json& value, const char* key) const;

  const Json& object_;
  std::string where_;
};

/// The keys of these fields, after `others`.
template <typename Target, std::size_t kCount>
[[nodiscard]] std::vector<std::string> keys_of(const NumberField<Target> (&fields)[kCount],
                                               std::vector<std::string> others = {}) {
  for (const NumberField<Target>& field : fields) others.emplace_back(field.key);
  return others;
}

/// Parses one object; refuses repeated keys and deep nesting. @throws MalformedData naming `where`.
[[nodiscard]] Json parse_strict(std::string_view json, const std::string& where);

/// The same, and refuses another schema.
[[nodiscard]] Json parse_strict(std::string_view json, const std::string& where, const char* schema);

}  // namespace natten_sim
