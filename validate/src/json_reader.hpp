#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/unique_keys.hpp>

namespace natten_sim::validate {

using Json = nlohmann::ordered_json;

/// @throws MalformedData on text that is no JSON object without repeated keys.
[[nodiscard]] inline Json parse_object(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw MalformedData(where, error.what(), "a JSON object");
  }
  if (!json.is_object()) throw MalformedData(where, "no object", "a JSON object");
  require_unique_keys(text, where);
  return json;
}

/// One object: every key must be asked for, every value must have the type that is asked for.
class ObjectReader {
 public:
  ObjectReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw MalformedData(where_, "no object", "a JSON object");
  }
  [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }
  [[nodiscard]] const std::string& where() const { return where_; }

  template <typename Value>
  [[nodiscard]] Value get(const char* key) {
    return convert<Value>(value(key), key);
  }
  template <typename Value>
  [[nodiscard]] Value get(const char* key, const Value& fallback) {
    return has(key) ? get<Value>(key) : fallback;
  }
  [[nodiscard]] const Json& array(const char* key) {
    const Json& found = value(key);
    if (!found.is_array()) throw MalformedData(where_ + "." + key, "no array", "an array");
    return found;
  }
  [[nodiscard]] ObjectReader object(const char* key) { return {value(key), where_ + "." + key}; }
  [[nodiscard]] const Json& json() const { return json_; }

  /// @throws MalformedData naming a key that nobody asked for.
  void finish() const {
    if (seen_.size() == json_.size()) return;
    for (const auto& [key, unused] : json_.items()) {
      bool known = false;
      for (const std::string& name : seen_) known = known || name == key;
      if (!known) throw MalformedData(where_, "unknown key '" + key + "'", "the keys of this format");
    }
  }

 private:
  [[nodiscard]] const Json& value(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end())
      throw MalformedData(where_, std::string("no key '") + key + "'", "all keys of this format");
    bool repeated = false;
    for (const std::string& name : seen_) repeated = repeated || name == key;
    if (!repeated) seen_.emplace_back(key);
    return *found;
  }
  template <typename Value>
  [[nodiscard]] Value convert(const Json& json, const char* key) const {
    bool fits = false;
    if constexpr (std::is_same_v<Value, bool>) {
      fits = json.is_boolean();
    } else if constexpr (std::is_integral_v<Value>) {
      fits = json.is_number_integer();
    } else if constexpr (std::is_floating_point_v<Value>) {
      fits = json.is_number();
    } else {
      fits = json.is_string();
    }
    if (!fits) throw MalformedData(where_ + "." + key, json.dump(), "a value of the right type");
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      const auto wide = json.get<std::int64_t>();
      if (static_cast<std::int64_t>(static_cast<Value>(wide)) != wide) {
        throw MalformedData(where_ + "." + key, json.dump(), "a smaller number");
      }
    }
    return json.get<Value>();
  }

  const Json& json_;
  std::string where_;
  std::vector<std::string> seen_;
};

}  // namespace natten_sim::validate
