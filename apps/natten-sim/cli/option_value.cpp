#include "cli/option_value.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/option_range.hpp"
#include "cli/values.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

[[noreturn]] void refuse(const std::string& key, const Json& value, const std::string& accepted) {
  throw InvalidParameter(key, value.dump(), accepted);
}

bool is_integer_in(const Json& value, const IntegerBounds& range) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxInteger))
    return false;
  return value.get<std::int64_t>() >= range.lo && value.get<std::int64_t>() <= range.hi;
}

bool is_pair_of_numbers(const Json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
}

}  // namespace

void require_choice(const std::string& name, const std::string& text, const std::string& choices) {
  if (choices.empty()) return;
  const std::vector<std::string> known = split(choices);
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw UnknownName(name, text, closest_name(text, known), choices);
}

std::int64_t integer_from_words(const std::string& name, const std::vector<std::string>& words,
                                const About& about) {
  return name.ends_with("-bytes") ? parse_bytes(name, words.front(), about.range.lo, about.range.hi)
                                  : parse_integer(name, words.front(), about.range.lo, about.range.hi);
}

std::int64_t integer_from_json(const std::string& key, const Json& value, const About& about) {
  if (is_integer_in(value, about.range)) return value.get<std::int64_t>();
  refuse(key, value,
         !about.json_accepted.empty()
             ? about.json_accepted
             : "integers in " + std::to_string(about.range.lo) + ".." + std::to_string(about.range.hi));
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::string name_from_json(const std::string& key, const Json& value, const std::vector<std::string>& names) {
  if (value.is_string() &&
      std::find(names.begin(), names.end(), value.text()) != names.end())
    return value.get<std::string>();
  refuse(key, value, joined(names, names.size() == 2 ? " or " : ", "));
}

void put_integer(std::int64_t value, Json& out) { out = value; }
void put_unsigned(std::uint64_t value, Json& out) { out = value; }
void put_text(const std::string& text, Json& out) { out = text; }

void for_each_element(const std::string& key, const Json& value, const char* accepted,
                      const std::function<void(const Json&)>& read) {
  if (!value.is_array()) refuse(key, value, accepted);
  for (const Json& element : value) read(element);
}

bool OptionValue<bool>::from_words(const std::string& name, const std::vector<std::string>& words,
                                   const About&) {
  if (words.empty()) return true;
  const PerAxis<bool> values = parse_booleans(name, words);
  if (values.rank() != 1)
    throw InvalidParameter(name, std::to_string(values.rank()) + " values", "true, false, 1 or 0");
  return values[0];
}

bool OptionValue<bool>::from_json(const std::string& key, const Json& value, const About&) {
  if (!value.is_boolean()) refuse(key, value, "true or false");
  return value.get<bool>();
}

bool OptionValue<bool>::to_json(bool value, Json& out) {
  out = value;
  return true;
}

std::vector<std::int64_t> OptionValue<std::vector<std::int64_t>>::from_words(
    const std::string& name, const std::vector<std::string>& words, const About& about) {
  return parse_integers(name, words, about.range.lo, about.range.hi);
}

std::vector<std::int64_t> OptionValue<std::vector<std::int64_t>>::from_json(const std::string& key,
                                                                            const Json& value,
                                                                            const About& about) {
  std::vector<std::int64_t> values;
  for_each_element(key, value, "an array of integers",
                   [&](const Json& element) { values.push_back(integer_from_json(key, element, about)); });
  return values;
}

bool OptionValue<std::vector<std::int64_t>>::from_plain(const PlainValue& value, const About& about,
                                                        std::vector<std::int64_t>& out) {
  if (!value.is_array || value.is_boolean) return false;
  for (const std::int64_t one : value.values) {
    if (one < about.range.lo || one > about.range.hi) return false;
  }
  out.assign(value.values.begin(), value.values.end());
  return true;
}

bool OptionValue<std::vector<std::int64_t>>::to_json(const std::vector<std::int64_t>& values, Json& out) {
  out = values;
  return true;
}

double OptionValue<double>::from_words(const std::string& name, const std::vector<std::string>& words,
                                       const About& about) {
  const auto [lo, hi] = about.interval;
  const char* const accepted = about.accepted.c_str();
  if (is_share_interval(lo, hi)) return parse_share(name, words.front(), accepted);
  return about.value == "X" && hi > 1 ? parse_factor(name, words.front(), lo, hi, accepted)
                                      : parse_number(name, words.front(), lo, hi, accepted);
}

bool OptionValue<double>::from_number(double value, const About& about, double& out) {
  const double number =
      is_share_interval(about.interval.lo, about.interval.hi) ? share_of_number(value) : value;
  if (!(number >= about.interval.lo && number <= about.interval.hi)) return false;
  out = number;
  return true;
}

double OptionValue<double>::from_json(const std::string& key, const Json& value, const About& about) {
  if (!value.is_number() || !(value.get<double>() >= about.interval.lo) ||
      !(value.get<double>() <= about.interval.hi))
    refuse(key, value, about.accepted);
  return value.get<double>();
}

bool OptionValue<double>::to_json(double value, Json& out) {
  out = value;
  return true;
}

std::string OptionValue<std::string>::from_words(const std::string& name,
                                                 const std::vector<std::string>& words, const About& about) {
  require_choice(name, words.front(), about.choices);
  return words.front();
}

std::string OptionValue<std::string>::from_json(const std::string& key, const Json& value,
                                                const About& about) {
  if (!about.choices.empty()) return name_from_json(key, value, split(about.choices));
  if (!value.is_string()) refuse(key, value, "a text");
  return value.get<std::string>();
}

bool OptionValue<std::string>::to_json(const std::string& value, Json& out) {
  out = value;
  return true;
}

std::vector<std::string> OptionValue<std::vector<std::string>>::from_words(
    const std::string& name, const std::vector<std::string>& words, const About& about) {
  for (const std::string& word : words) require_choice(name, word, about.choices);
  return words;
}

std::vector<std::string> OptionValue<std::vector<std::string>>::from_json(const std::string& key,
                                                                          const Json& value, const About&) {
  std::vector<std::string> words;
  for_each_element(key, value, "an array of texts", [&](const Json& element) {
    if (!element.is_string()) refuse(key, value, "an array of texts");
    words.push_back(element.get<std::string>());
  });
  return words;
}

bool OptionValue<std::vector<std::string>>::to_json(const std::vector<std::string>& value, Json& out) {
  out = value;
  return true;  // an empty list is a list
}

Extents OptionValue<Extents>::from_words(const std::string& name, const std::vector<std::string>& words,
                                         const About& about) {
  return parse_extents(name, words, about.range.lo, about.range.hi);
}

Extents OptionValue<Extents>::from_json(const std::string& key, const Json& value, const About& about) {
  const std::string accepted =
      about.range.lo == 1
          ? "an array of 1 to 4 positive integers, one an axis"
          : "an array of 1 to 4 integers of " + std::to_string(about.range.lo) + " or more, one an axis";
  if (!value.is_array() || value.empty() || value.size() > kMaxRank) refuse(key, value, accepted);
  Extents extents;
  for (const Json& element : value) {
    if (!is_integer_in(element, about.range)) refuse(key, value, accepted);
    extents.push_back(element.get<std::int64_t>());
  }
  return extents;
}

bool OptionValue<Extents>::from_plain(const PlainValue& value, const About& about, Extents& out) {
  if (!value.is_array || value.is_boolean || value.values.size() > kMaxRank) return false;
  Extents extents;
  for (const std::int64_t size : value.values) {
    if (size < about.range.lo || size > about.range.hi) return false;
    extents.push_back(size);
  }
  out = extents;
  return true;
}

bool OptionValue<Extents>::to_json(const Extents& value, Json& out) {
  out = report::to_json(value);
  return !value.empty();
}

PerAxis<bool> OptionValue<PerAxis<bool>>::from_words(const std::string& name,
                                                     const std::vector<std::string>& words, const About&) {
  return parse_booleans(name, words);
}

PerAxis<bool> OptionValue<PerAxis<bool>>::from_json(const std::string& key, const Json& value, const About&) {
  const char* accepted = "an array of true, false, 1 or 0, one an axis";
  if (!value.is_array() || value.empty() || value.size() > kMaxRank) refuse(key, value, accepted);
  PerAxis<bool> values;
  for (const Json& element : value) {
    if (!element.is_boolean() && element != 0 && element != 1) refuse(key, value, accepted);
    values.push_back(element.is_boolean() ? element.get<bool>() : element == 1);
  }
  return values;
}

bool OptionValue<PerAxis<bool>>::from_plain(const PlainValue& value, const About&, PerAxis<bool>& out) {
  if (!value.is_array || value.values.size() > kMaxRank) return false;
  PerAxis<bool> values;
  for (const std::int64_t one : value.values) {
    if (one != 0 && one != 1) return false;
    values.push_back(one == 1);
  }
  out = values;
  return true;
}

bool OptionValue<PerAxis<bool>>::to_json(const PerAxis<bool>& value, Json& out) {
  out = report::to_json(value);
  return !value.empty();
}

PerAxis<IntRange> OptionValue<PerAxis<IntRange>>::from_words(const std::string& name,
                                                             const std::vector<std::string>& words,
                                                             const About&) {
  PerAxis<IntRange> ranges;
  for (const std::string& word : words) ranges.push_back(parse_range(name, word));
  return ranges;
}

PerAxis<IntRange> OptionValue<PerAxis<IntRange>>::from_json(const std::string& key, const Json& value,
                                                            const About& about) {
  const char* accepted = "an array of 1 to 4 pairs [lo, hi] of positive integers with lo <= hi, one an axis";
  if (!value.is_array() || value.empty() || value.size() > kMaxRank) refuse(key, value, accepted);
  PerAxis<IntRange> ranges;
  for (const Json& element : value) {
    if (!is_pair_of_numbers(element) || !is_integer_in(element[0], about.range) ||
        !is_integer_in(element[1], about.range) || element[0] > element[1])
      refuse(key, value, accepted);
    ranges.push_back({element[0].get<std::int64_t>(), element[1].get<std::int64_t>()});
  }
  return ranges;
}

bool OptionValue<PerAxis<IntRange>>::to_json(const PerAxis<IntRange>& value, Json& out) {
  out = Json::array();
  for (const IntRange& range : value) out.push_back({range.lo, range.hi});
  return !value.empty();
}

SparsityRange OptionValue<SparsityRange>::from_words(const std::string& name,
                                                     const std::vector<std::string>& words, const About&) {
  if (words.size() == 1) return parse_fraction_range(name, words[0]);
  return parse_share_range(name, words[0], words[1]);
}

SparsityRange OptionValue<SparsityRange>::from_json(const std::string& key, const Json& value, const About&) {
  if (!is_pair_of_numbers(value) || !(value[0] >= 0) || !(value[0] <= value[1]) || !(value[1] <= 1))
    refuse(key, value, "[lo, hi] with 0 <= lo <= hi <= 1, both included");
  return {value[0].get<double>(), value[1].get<double>()};
}

bool OptionValue<SparsityRange>::to_json(const SparsityRange& value, Json& out) {
  out = {value.lo, value.hi};
  return true;
}

bool is_null(const Json& value) { return value.is_null(); }

std::string range_text(const IntegerBounds& range) {
  if (range.hi >= std::numeric_limits<std::int64_t>::max()) return {};
  return std::to_string(range.lo) + ".." + std::to_string(range.hi);
}

std::string with_default(const std::string& help, const std::function<bool(Json&)>& write) {
  constexpr std::string_view kPlace = "[default]";
  const std::size_t place = help.find(kPlace);
  if (place == std::string::npos) return help;
  Json value;
  if (!write(value)) throw std::logic_error("an option without a default has [default] in its help: " + help);
  const std::string text = value.is_string()         ? value.get<std::string>()
                           : value.is_number_float() ? fmt::format("{}", value.get<double>())
                                                     : value.dump();
  return help.substr(0, place) + "[" + text + "]" + help.substr(place + kPlace.size());
}

std::string json_key(const std::string& flags, const About& about) {
  if (!about.key.empty()) return about.key;
  std::string key = OptionSpec{.flags = flags}.name();
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

void for_each_key(const Json& object, const std::vector<std::string>& known,
                  const std::function<void(const std::string&, const Json&)>& read) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw UnknownName("key", key, closest_name(key, known), joined(known));
    read(key, value);
  }
}

void echo_value(const std::string& key, Echo echo, const std::function<bool(Json&)>& write, Json& object) {
  Json value;
  const bool has_value = write(value);
  if (has_value) {
    object[key] = std::move(value);
  } else if (echo == Echo::kAlways) {
    object[key] = nullptr;
  }
}

}  // namespace natten_sim::cli
