#include <natten_sim/io/given_value.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim {
namespace {

constexpr double kMostExact = 9007199254740992;  // 2^53

/// A number without a fraction, in whatever spelling.
std::optional<std::int64_t> whole_of(const Json& number) {
  if (number.is_number_unsigned() &&
      number.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  if (number.is_number_integer()) return number.get<std::int64_t>();
  if (!number.is_number_float()) return std::nullopt;
  const double value = number.get<double>();
  if (!(std::abs(value) <= kMostExact) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool is_scalar(const Json& value) {
  return value.is_string() || value.is_boolean() || value.is_number() || value.is_digits();
}

bool is_pair(const Json& value) {
  return value.is_array() && value.size() == 2 && is_scalar(value[0]) && is_scalar(value[1]);
}

std::string word_of_scalar(const Json& scalar) {
  if (scalar.is_string()) return scalar.text();
  if (const std::optional<std::int64_t> whole = whole_of(scalar)) return std::to_string(*whole);
  if (scalar.is_number_float() && !std::isfinite(scalar.get<double>()))
    return std::isnan(scalar.get<double>()) ? "nan" : scalar.get<double>() < 0 ? "-inf" : "inf";
  return json_text(scalar);  // of a number the shortest that reads back as the same
}

}  // namespace

std::vector<std::string> words_of(const std::string& name, const Json& value) {
  if (is_scalar(value)) return {word_of_scalar(value)};
  const auto refuse = [&] {
    throw InvalidParameter(name, json_text(value), "a text, a number, true, false, or an array of these");
  };
  if (!value.is_array()) refuse();
  std::vector<std::string> words;
  for (const Json& element : value) {
    if (!is_scalar(element) && !is_pair(element)) refuse();
    words.push_back(is_scalar(element) ? word_of_scalar(element)
                                       : word_of_scalar(element[0]) + ":" + word_of_scalar(element[1]));
  }
  return words;
}

std::string word_of(const std::string& name, const Json& value) {
  std::vector<std::string> words = words_of(name, value);
  if (words.size() != 1) throw InvalidParameter(name, std::to_string(words.size()) + " values", "one value");
  return std::move(words.front());
}

std::size_t number_of_values(const Json& value) { return value.is_array() ? value.size() : 1; }

PlainValues::PlainValues(const Json& value) {
  if (!value.is_array()) {
    plain_ = take(value);
    return;
  }
  plain_ = !value.empty() && value.size() <= values_.size() &&
           std::all_of(value.begin(), value.end(), [&](const Json& element) { return take(element); });
}

bool PlainValues::take(const Json& scalar) {
  if (scalar.is_boolean()) {
    is_boolean_ = true;
    values_[size_++] = scalar.get<bool>() ? 1 : 0;
    return true;
  }
  const std::optional<std::int64_t> whole = whole_of(scalar);
  if (whole) values_[size_++] = *whole;
  return whole.has_value();
}

std::optional<PlainValue> PlainValues::get() const {
  if (!plain_) return std::nullopt;
  return PlainValue{.is_boolean = is_boolean_, .values = {values_.data(), size_}};
}

}  // namespace natten_sim
