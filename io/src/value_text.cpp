#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim {
namespace {

constexpr double kLargestExact = 9007199254740992;  // 2^53

/// One word a value: also splits at 'x' and ','.
std::vector<std::string> value_words(const std::string& parameter, const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    std::string spaced = text;
    std::replace_if(
        spaced.begin(), spaced.end(), [](char c) { return c == ',' || c == 'X'; }, 'x');
    for (std::string& word : split_text(spaced, 'x')) {
      if (word.empty())
        throw InvalidParameter(parameter, "'" + text + "'", "values like 30 48 80, 30x48x80 or 30,48,80");
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// A number with an exponent or a fraction of zeros, where it is whole.
std::optional<std::int64_t> whole_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      text.find_first_of("e.E") == std::string::npos || std::abs(value) > kLargestExact ||
      std::trunc(value) != value)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// A whole number with a prefix of units behind it: "32k", "10M", "50MB" and "50MiB".
struct Scaled {
  std::int64_t decimal = 0, binary = 0;  ///< what it may mean
  std::string unit;                      ///< what follows the prefix: "", "B" or "iB"
};

/// None: the text is no such number.
std::optional<Scaled> scaled_number(const std::string& text) {
  constexpr std::string_view kPrefixes = "kmg";
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  constexpr std::int64_t kMost = 1'000'000;
  if (error != std::errc() || end == last || number < 1 || number > kMost) return std::nullopt;
  const std::size_t power = kPrefixes.find(static_cast<char>(std::tolower(static_cast<unsigned char>(*end))));
  if (power == std::string_view::npos) return std::nullopt;
  Scaled scaled{.decimal = number, .binary = number, .unit = std::string(end + 1, last)};
  for (std::size_t i = 0; i <= power; ++i) {
    scaled.decimal *= 1000;
    scaled.binary *= 1024;
  }
  return scaled;
}

/// "32k": both numbers that are meant by such a suffix. Empty: the text has none.
std::string written_out(const std::string& text) {
  const std::optional<Scaled> scaled = scaled_number(text);
  if (!scaled || (!scaled->unit.empty() && scaled->unit != "B")) return "";
  return ", written out: " + std::to_string(scaled->decimal) + " or " + std::to_string(scaled->binary);
}

}  // namespace

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::int64_t parse_integer(const std::string& parameter, const std::string& text, std::int64_t lo,
                           std::int64_t hi) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < lo || value > hi) {
    const bool number = whole || error == std::errc::result_out_of_range;
    const bool low = whole ? value < lo : text.starts_with('-');
    const std::optional<std::int64_t> meant = whole_number(text);  // as 1e6
    throw InvalidParameter(
        parameter, "'" + text + "'",
        "integers in " + std::to_string(lo) + ".." + std::to_string(hi) + written_out(text),
        meant    ? std::to_string(std::clamp(*meant, lo, hi))
        : number ? std::to_string(low ? lo : hi)
                 : "");
  }
  return value;
}

std::int64_t parse_bytes(const std::string& parameter, const std::string& text, std::int64_t lo,
                         std::int64_t hi) {
  const std::optional<Scaled> scaled = scaled_number(text);
  const bool binary = scaled && scaled->unit == "iB";
  return parse_integer(parameter, binary ? std::to_string(scaled->binary) : text, lo, hi);
}

std::int64_t parse_whole_number(const std::string& parameter, const std::string& text, std::int64_t lo,
                                std::int64_t hi) {
  const bool bytes = parameter.ends_with("-bytes") || parameter.ends_with("_bytes");
  return bytes ? parse_bytes(parameter, text, lo, hi) : parse_integer(parameter, text, lo, hi);
}

bool is_share_interval(double lo, double hi) { return lo == 0 && hi == 1; }

double share_of_number(double value) { return value > 1 ? value / 100 : value; }

double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                    const std::string& accepted) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  const bool in_range = error == std::errc() && value >= lo && value <= hi;
  if (whole && in_range) return value;
  throw InvalidParameter(parameter, "'" + text + "'", accepted);
}

double parse_factor(const std::string& parameter, const std::string& text, double lo, double hi,
                    const std::string& accepted) {
  const bool times = text.size() > 1 && text.ends_with('x');
  return parse_number(parameter, times ? text.substr(0, text.size() - 1) : text, lo, hi, accepted);
}

double parse_share(const std::string& parameter, const std::string& text, const std::string& accepted) {
  if (text.ends_with('%'))
    return parse_number(parameter, text.substr(0, text.size() - 1), 0, 100, accepted) / 100;
  return share_of_number(parse_number(parameter, text, 0, 100, accepted));
}

std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter, const std::string& text,
                                                  std::int64_t lowest, const std::string& accepted) {
  const std::size_t at = text.find('/');
  if (at == std::string::npos) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  const std::int64_t of = parse_integer(parameter, text.substr(at + 1), 1, kMaxAxisLength);
  const std::int64_t number = parse_integer(parameter, text.substr(0, at), 0, kMaxAxisLength);
  if (number < lowest || number > of) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  return {number, of};
}

bool parse_boolean(const std::string& parameter, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw InvalidParameter(parameter, "'" + text + "'", "true, false, 1 or 0");
}

void require_choice(const std::string& parameter, const std::string& text, const std::string& choices) {
  if (choices.empty()) return;
  const std::vector<std::string> known = split_text(choices, ' ');
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw UnknownName(parameter, text, closest_name(text, known), choices);
}

std::vector<std::int64_t> parse_integers(const std::string& parameter, const std::vector<std::string>& texts,
                                         std::int64_t lo, std::int64_t hi) {
  std::vector<std::int64_t> values;
  for (const std::string& word : value_words(parameter, texts))
    values.push_back(parse_integer(parameter, word, lo, hi));
  return values;
}

void require_axes(const std::string& parameter, std::size_t values) {
  if (values == 0 || values > kMaxRank)
    throw InvalidParameter(parameter, std::to_string(values) + " values", "1 to 4 values, one an axis");
}

Extents parse_extents(const std::string& parameter, const std::vector<std::string>& texts, std::int64_t lo,
                      std::int64_t hi) {
  const std::vector<std::string> words = value_words(parameter, texts);
  require_axes(parameter, words.size());
  Extents sizes;
  for (const std::string& word : words) sizes.push_back(parse_integer(parameter, word, lo, hi));
  return sizes;
}

PerAxis<bool> parse_booleans(const std::string& parameter, const std::vector<std::string>& texts) {
  PerAxis<bool> values;
  std::vector<std::string> written = texts;
  std::replace(written.begin(), written.end(), std::string(), std::string("false"));  // as Python has it
  const std::vector<std::string> words = value_words(parameter, written);
  require_axes(parameter, words.size());
  for (std::string word : words) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word != "true" && word != "false" && word != "1" && word != "0")
      throw InvalidParameter(parameter, "'" + word + "'", "true, false, 1 or 0, one an axis");
    values.push_back(word == "true" || word == "1");
  }
  return values;
}

}  // namespace natten_sim
