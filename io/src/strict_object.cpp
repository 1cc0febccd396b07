#include <algorithm>
#include <cmath>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/io/unique_keys.hpp>

namespace natten_sim {
namespace {

constexpr auto kMaxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

StrictObject::StrictObject(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) throw MalformedData(where_, "not an object", "a JSON object");
}

StrictObject::StrictObject(const Json& object, std::string where, const std::vector<std::string>& keys)
    : StrictObject(object, std::move(where)) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string closest = closest_name(key, keys);
    throw MalformedData(
        where_, "unknown key '" + key + "'" + (closest.empty() ? "" : ", did you mean '" + closest + "'?"),
        "the documented keys");
  }
}

bool StrictObject::has(const char* key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

bool StrictObject::is_null(const char* key) const {
  const auto found = object_.find(key);
  return found != object_.end() && found->is_null();
}

const Json& StrictObject::at(const char* key) const {
  if (!has(key))
    throw MalformedData(where_, std::string("'") + key + "' is missing", "an object with this key");
  return *object_.find(key);
}

std::string StrictObject::text(const char* key) const { return text_in(at(key), key); }

std::string StrictObject::text_or(const char* key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::vector<std::string> StrictObject::texts(const char* key) const {
  std::vector<std::string> values;
  for (const Json& value : array(key)) values.push_back(text_in(value, key));
  return values;
}

std::int64_t StrictObject::integer(const char* key, IntegerRange range) const {
  return integer_in(at(key), key, range);
}

std::int64_t StrictObject::integer_or(const char* key, std::int64_t fallback, IntegerRange range) const {
  return has(key) ? integer(key, range) : fallback;
}

std::int32_t StrictObject::integer32(const char* key) const { return integer32_in(at(key), key); }

std::int32_t StrictObject::integer32_or(const char* key, std::int32_t fallback) const {
  return has(key) ? integer32(key) : fallback;
}

std::int32_t StrictObject::integer32_in(const Json& value, const char* key) const {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(integer_in(value, key, {Limits::min(), Limits::max()}));
}

std::int64_t StrictObject::integer_in(const Json& value, const char* key, IntegerRange range) const {
  // An unsigned number past 2^63 would come out negative.
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > kMaxSigned) &&
                    value.get<std::int64_t>() >= range.lowest && value.get<std::int64_t>() <= range.highest;
  if (!fits) {
    fail(key, range.lowest == IntegerRange{}.lowest
                  ? "integers"
                  : "integers in " + std::to_string(range.lowest) + ".." + std::to_string(range.highest));
  }
  return value.get<std::int64_t>();
}

double StrictObject::number(const char* key) const {
  if (!at(key).is_number() || !std::isfinite(at(key).get<double>())) fail(key, "a number");
  return at(key).get<double>();
}

bool StrictObject::boolean(const char* key) const {
  if (!at(key).is_boolean()) fail(key, "true or false");
  return at(key).get<bool>();
}

bool StrictObject::boolean_or(const char* key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

const Json& StrictObject::array(const char* key) const {
  if (is_null(key) || !at(key).is_array()) fail(key, "an array");
  return at(key);
}

StrictObject StrictObject::object(const char* key, const std::vector<std::string>& keys) const {
  return {at(key), where_ + ": '" + key + "'", keys};
}

double StrictObject::sourced(const char* key) const {
  const StrictObject entry = object(key, {"value", "measured", "source"});
  if (entry.text("source").empty()) entry.fail("source", "where the number comes from");
  (void)entry.boolean("measured");
  return entry.number("value");
}

void StrictObject::fail(const char* key, const std::string& accepted) const {
  const auto found = object_.find(key);
  throw MalformedData(where_,
                      std::string("'") + key + "' is " + (found == object_.end() ? "absent" : found->dump()),
                      accepted);
}

std::string StrictObject::text_in(const Json& value, const char* key) const {
  if (!value.is_string()) fail(key, "text");
  return value.get<std::string>();
}

Json parse_strict(std::string_view json, const std::string& where) {
  Json document = parse_unique_json(json, where);
  if (!document.is_object()) throw MalformedData(where, "not an object", "a JSON object");
  return document;
}

Json parse_strict(std::string_view json, const std::string& where, const char* schema) {
  Json document = parse_strict(json, where);
  const StrictObject head(document, where);
  if (head.text("schema") != schema) head.fail("schema", schema);
  return document;
}

}  // namespace natten_sim
