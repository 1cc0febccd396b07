#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/unique_keys.hpp>

namespace natten_sim {

/// Accepted integers, both ends included.
struct IntegerRange {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
};

/// A number of an object, and where it goes.
template <typename Target>
struct NumberField {
  const char* key;
  double Target::*member;
};

/// One JSON object of data/ or of a user's file, read strictly: unknown, missing and ill-typed keys are
/// refused with the place and the key. A key whose value is null counts as absent. Private to the project's
/// own rooms, since the library's users need no JSON.
class StrictObject {
 public:
  using Json = nlohmann::ordered_json;

  /// Any keys: an object whose keys are names. @throws MalformedData, as everything here.
  StrictObject(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw MalformedData(where_, "not an object", "a JSON object");
  }
  /// These keys and no others: a typo must not silently take a default.
  StrictObject(const Json& object, std::string where, const std::vector<std::string>& keys)
      : StrictObject(object, std::move(where)) {
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      const std::string closest = closest_name(key, keys);
      throw MalformedData(
          where_, "unknown key '" + key + "'" + (closest.empty() ? "" : ", did you mean '" + closest + "'?"),
          "the documented keys");
    }
  }

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const Json& json() const { return object_; }
  [[nodiscard]] bool has(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
  }
  /// The key is there, and says that there is nothing.
  [[nodiscard]] bool is_null(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && found->is_null();
  }
  [[nodiscard]] const Json& at(const char* key) const {
    if (!has(key))
      throw MalformedData(where_, std::string("'") + key + "' is missing", "an object with this key");
    return *object_.find(key);
  }

  [[nodiscard]] std::string text(const char* key) const { return text_in(at(key), key); }
  [[nodiscard]] std::string text_or(const char* key, const std::string& fallback) const {
    return has(key) ? text(key) : fallback;
  }
  [[nodiscard]] std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> values;
    for (const Json& value : array(key)) values.push_back(text_in(value, key));
    return values;
  }
  [[nodiscard]] std::int64_t integer(const char* key, IntegerRange range = {}) const {
    return integer_in(at(key), key, range);
  }
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t fallback,
                                        IntegerRange range = {}) const {
    return has(key) ? integer(key, range) : fallback;
  }
  [[nodiscard]] std::int32_t integer32(const char* key) const { return integer32_in(at(key), key); }
  [[nodiscard]] std::int32_t integer32_or(const char* key, std::int32_t fallback) const {
    return has(key) ? integer32(key) : fallback;
  }
  /// An element of an array.
  [[nodiscard]] std::int32_t integer32_in(const Json& value, const char* key) const {
    using Limits = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(integer_in(value, key, {Limits::min(), Limits::max()}));
  }
  [[nodiscard]] std::int64_t integer_in(const Json& value, const char* key, IntegerRange range = {}) const {
    // An unsigned number past 2^63 would come out negative.
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<std::uint64_t>() > kMostSigned) &&
                      value.get<std::int64_t>() >= range.lowest && value.get<std::int64_t>() <= range.highest;
    if (!fits) {
      fail(key, range.lowest == IntegerRange{}.lowest
                    ? "integers"
                    : "integers in " + std::to_string(range.lowest) + ".." + std::to_string(range.highest));
    }
    return value.get<std::int64_t>();
  }
  [[nodiscard]] double number(const char* key) const {
    if (!at(key).is_number() || !std::isfinite(at(key).get<double>())) fail(key, "a number");
    return at(key).get<double>();
  }
  template <typename Target, std::size_t kCount>
  void numbers(const NumberField<Target> (&fields)[kCount], Target& target) const {
    for (const NumberField<Target>& field : fields) target.*field.member = number(field.key);
  }
  [[nodiscard]] bool boolean(const char* key) const {
    if (!at(key).is_boolean()) fail(key, "true or false");
    return at(key).get<bool>();
  }
  [[nodiscard]] bool boolean_or(const char* key, bool fallback) const {
    return has(key) ? boolean(key) : fallback;
  }
  [[nodiscard]] const Json& array(const char* key) const {
    if (is_null(key) || !at(key).is_array()) fail(key, "an array");
    return at(key);
  }
  [[nodiscard]] StrictObject object(const char* key, const std::vector<std::string>& keys) const {
    return {at(key), where_ + ": '" + key + "'", keys};
  }
  /// {"value", "measured", "source"}.
  [[nodiscard]] double sourced(const char* key) const {
    const StrictObject entry = object(key, {"value", "measured", "source"});
    if (entry.text("source").empty()) entry.fail("source", "where the number comes from");
    (void)entry.boolean("measured");
    return entry.number("value");
  }

  [[noreturn]] void fail(const char* key, const std::string& accepted) const {
    const auto found = object_.find(key);
    throw MalformedData(
        where_, std::string("'") + key + "' is " + (found == object_.end() ? "absent" : found->dump()),
        accepted);
  }

 private:
  static constexpr auto kMostSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

  [[nodiscard]] std::string text_in(const Json& value, const char* key) const {
    if (!value.is_string()) fail(key, "text");
    return value.get<std::string>();
  }

  const Json& object_;
  std::string where_;
};

/// Their keys, after `others`.
template <typename Target, std::size_t kCount>
[[nodiscard]] std::vector<std::string> keys_of(const NumberField<Target> (&fields)[kCount],
                                               std::vector<std::string> others = {}) {
  for (const NumberField<Target>& field : fields) others.emplace_back(field.key);
  return others;
}

/// Parses one object; refuses repeated keys and deep nesting.
[[nodiscard]] inline StrictObject::Json parse_strict(std::string_view json, const std::string& where) {
  require_unique_keys(json, where);
  StrictObject::Json document = StrictObject::Json::parse(json);
  if (!document.is_object()) throw MalformedData(where, "not an object", "a JSON object");
  return document;
}

/// The same, and refuses another schema.
[[nodiscard]] inline StrictObject::Json parse_strict(std::string_view json, const std::string& where,
                                                     const char* schema) {
  StrictObject::Json document = parse_strict(json, where);
  const StrictObject head(document, where);
  if (head.text("schema") != schema) head.fail("schema", schema);
  return document;
}

}  // namespace natten_sim
