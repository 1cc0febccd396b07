#include "cli/option_value.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/study/describe/range_text.hpp>

#include "cli/option_range.hpp"

namespace natten_sim::cli {

std::int64_t integer_from_words(const std::string& name, const std::vector<std::string>& words,
                                const About& about) {
  return parse_whole_number(name, words.front(), about.range.lo, about.range.hi);
}

void put_integer(std::int64_t value, Json& out) { out = value; }
void put_unsigned(std::uint64_t value, Json& out) { out = value; }
void put_text(const std::string& text, Json& out) { out = text; }

bool OptionValue<bool>::from_words(const std::string& name, const std::vector<std::string>& words,
                                   const About&) {
  return words.empty() || parse_boolean(name, words.front());
}

bool OptionValue<bool>::to_json(bool value, Json& out) {
  out = value;
  return true;
}

std::vector<std::int64_t> OptionValue<std::vector<std::int64_t>>::from_words(
    const std::string& name, const std::vector<std::string>& words, const About& about) {
  return parse_integers(name, words, about.range.lo, about.range.hi);
}

bool OptionValue<std::vector<std::int64_t>>::from_plain(const PlainValue& value, const About& about,
                                                        std::vector<std::int64_t>& out) {
  if (value.is_boolean) return false;
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
  const std::string& accepted = about.accepted;
  if (is_share_interval(lo, hi)) return parse_share(name, words.front(), accepted);
  return about.value == "X" && hi > 1 ? parse_factor(name, words.front(), lo, hi, accepted)
                                      : parse_number(name, words.front(), lo, hi, accepted);
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

bool OptionValue<std::string>::to_json(const std::string& value, Json& out) {
  out = value;
  return true;
}

std::vector<std::string> OptionValue<std::vector<std::string>>::from_words(
    const std::string& name, const std::vector<std::string>& words, const About& about) {
  for (const std::string& word : words) require_choice(name, word, about.choices);
  return words;
}

bool OptionValue<std::vector<std::string>>::to_json(const std::vector<std::string>& value, Json& out) {
  out = value;
  return true;  // an empty list is a list
}

KernelChoice OptionValue<KernelChoice>::from_words(const std::string& name, const std::vector<std::string>& words,
                                                   const About&) {
  return parse_kernel_choice(name, words.front());
}

bool OptionValue<KernelChoice>::to_json(const KernelChoice& value, Json& out) {
  put_text(to_string(value), out);
  return true;
}

std::vector<KernelChoice> OptionValue<std::vector<KernelChoice>>::from_words(const std::string& name,
                                                                             const std::vector<std::string>& words,
                                                                             const About&) {
  std::vector<KernelChoice> choices;
  for (const std::string& word : words) choices.push_back(parse_kernel_choice(name, word));
  return choices;
}

bool OptionValue<std::vector<KernelChoice>>::to_json(const std::vector<KernelChoice>& value, Json& out) {
  out = Json::array();
  for (const KernelChoice& choice : value) out.push_back(to_string(choice));
  return true;  // an empty list is a list
}

Json OptionValue<std::vector<KernelChoice>>::schema(const About&) { return list_schema(plain_schema("string")); }

Extents OptionValue<Extents>::from_words(const std::string& name, const std::vector<std::string>& words,
                                         const About& about) {
  return parse_extents(name, words, about.range.lo, about.range.hi);
}

bool OptionValue<Extents>::from_plain(const PlainValue& value, const About& about, Extents& out) {
  if (value.is_boolean || value.values.size() > kMaxRank) return false;
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

bool OptionValue<PerAxis<bool>>::from_plain(const PlainValue& value, const About&, PerAxis<bool>& out) {
  if (value.values.size() > kMaxRank) return false;
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
  return study::parse_ranges(name, words);
}

bool OptionValue<PerAxis<IntRange>>::to_json(const PerAxis<IntRange>& value, Json& out) {
  out = Json::array();
  for (const IntRange& range : value) out.push_back({range.lo, range.hi});
  return !value.empty();
}

SparsityRange OptionValue<SparsityRange>::from_words(const std::string& name,
                                                     const std::vector<std::string>& words, const About&) {
  return study::parse_shares(name, words);
}

bool OptionValue<SparsityRange>::to_json(const SparsityRange& value, Json& out) {
  out = {value.lo, value.hi};
  return true;
}

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
