#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/unique_keys.hpp>

namespace natten_sim {

/// One JSON object of data/ or of a user's file, read strictly: unknown, missing and ill-typed keys are
/// refused with the place and the key.
class StrictObject {
 public:
  using Json = nlohmann::ordered_json;

  StrictObject(const Json& object, std::string where, const std::vector<std::string>& keys)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw MalformedData(where_, "not an object", "a JSON object");
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        throw MalformedData(where_, "unknown key '" + key + "'", "the documented keys");
    }
  }

  [[nodiscard]] const Json& at(const char* key) const {
    if (!object_.contains(key))
      throw MalformedData(where_, std::string("'") + key + "' is missing", "an object with this key");
    return object_[key];
  }
  [[nodiscard]] std::string text(const char* key) const {
    if (!at(key).is_string()) fail(key, "a string");
    return at(key).get<std::string>();
  }
  [[nodiscard]] std::int64_t integer(const char* key) const {
    if (!is_integer(at(key))) fail(key, "an integer");
    return at(key).get<std::int64_t>();
  }
  /// Whether it is an integer that 64 signed bits hold: the JSON library wraps those from 2^63 on.
  [[nodiscard]] static bool is_integer(const Json& value) {
    return value.is_number_integer() &&
           (!value.is_number_unsigned() || value.get<std::uint64_t>() >> 63 == 0);
  }
  [[nodiscard]] double number(const char* key) const {
    if (!at(key).is_number() || !std::isfinite(at(key).get<double>())) fail(key, "a number");
    return at(key).get<double>();
  }
  [[nodiscard]] bool boolean(const char* key) const {
    if (!at(key).is_boolean()) fail(key, "true or false");
    return at(key).get<bool>();
  }
  [[nodiscard]] const Json& array(const char* key) const {
    if (!at(key).is_array()) fail(key, "an array");
    return at(key);
  }
  /// {"value", "measured", "source"}.
  [[nodiscard]] double sourced(const char* key) const {
    const StrictObject entry(at(key), where_ + ": '" + key + "'", {"value", "measured", "source"});
    if (entry.text("source").empty()) entry.fail("source", "where the number comes from");
    (void)entry.boolean("measured");
    return entry.number("value");
  }
  [[noreturn]] void fail(const char* key, const char* accepted) const {
    throw MalformedData(where_, std::string("'") + key + "' is " + at(key).dump(), accepted);
  }

 private:
  const Json& object_;
  std::string where_;
};

/// Parses `json`, refuses repeated keys and another schema.
inline StrictObject::Json parse_strict(std::string_view json, const std::string& where, const char* schema) {
  require_unique_keys(json, where);
  StrictObject::Json document = StrictObject::Json::parse(json);
  if (!document.is_object() || document.value("schema", "") != schema)
    throw MalformedData(where, "the schema is another one", schema);
  return document;
}

}  // namespace natten_sim
