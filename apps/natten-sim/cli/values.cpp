#include "cli/values.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/io/index_file.hpp>

namespace natten_sim::cli {
namespace {

/// One word a value: also splits at 'x' and ','.
std::vector<std::string> words(const std::string& parameter, const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    std::string word;
    for (char c : text + ",") {
      if (c != ',' && c != 'x' && c != 'X') {
        word += c;
        continue;
      }
      if (word.empty())
        throw InvalidParameter(parameter, "'" + text + "'", "values like 30 48 80, 30x48x80 or 30,48,80");
      result.push_back(word);
      word.clear();
    }
  }
  return result;
}

std::pair<std::string, std::string> split_at(const std::string& parameter, const std::string& text,
                                             char separator, const char* accepted) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  return {text.substr(0, at), text.substr(at + 1)};
}

Extents parse_tuple(const std::string& parameter, const std::vector<std::string>& texts, std::int64_t lo,
                    std::int64_t hi) {
  const std::vector<std::string> parts = words(parameter, texts);
  if (parts.empty() || parts.size() > kMaxRank) {
    throw InvalidParameter(parameter, std::to_string(parts.size()) + " values", "1 to 4 values, one an axis");
  }
  Extents extents;
  for (const std::string& part : parts) {
    extents.push_back(parse_integer(parameter, part, lo, hi));
  }
  return extents;
}

}  // namespace

std::int64_t parse_integer(const std::string& parameter, const std::string& text, std::int64_t lo,
                           std::int64_t hi) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < lo || value > hi) {
    const bool number = whole || error == std::errc::result_out_of_range;
    const bool low = whole ? value < lo : text.starts_with('-');
    throw InvalidParameter(parameter, "'" + text + "'",
                           "integers in " + std::to_string(lo) + ".." + std::to_string(hi),
                           number ? std::to_string(low ? lo : hi) : "");
  }
  return value;
}

Extents parse_extents(const std::string& parameter, const std::vector<std::string>& texts, std::int64_t lo,
                      std::int64_t hi) {
  return parse_tuple(parameter, texts, lo, hi);
}

Extents parse_indices(const std::string& parameter, const std::vector<std::string>& texts) {
  return parse_tuple(parameter, texts, 0, kMaxAxisLength);
}

std::vector<std::size_t> parse_axes(const std::string& parameter, const std::vector<std::string>& texts,
                                    std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::string& part : words(parameter, texts)) {
    axes.push_back(
        static_cast<std::size_t>(parse_integer(parameter, part, 0, static_cast<std::int64_t>(rank) - 1)));
  }
  return axes;
}

PerAxis<bool> parse_booleans(const std::string& parameter, const std::vector<std::string>& texts) {
  PerAxis<bool> values;
  for (std::string part : words(parameter, texts)) {
    std::transform(part.begin(), part.end(), part.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (part != "true" && part != "false" && part != "1" && part != "0") {
      throw InvalidParameter(parameter, "'" + part + "'", "true, false, 1 or 0, one an axis");
    }
    values.push_back(part == "true" || part == "1");
  }
  return values;
}

double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                    const char* accepted) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= lo && value <= hi)) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  return value;
}

IntRange parse_range(const std::string& parameter, const std::string& text) {
  const auto [lo, hi] = split_at(parameter, text, ':', "LO:HI, two integers of 1 or more, both included");
  const IntRange range{parse_integer(parameter, lo, 1, kMaxAxisLength),
                       parse_integer(parameter, hi, 1, kMaxAxisLength)};
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", "LO:HI with LO <= HI");
  return range;
}

SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text) {
  constexpr const char* kAccepted = "LO:HI with 0 <= LO <= HI <= 1, both included";
  const auto [lo, hi] = split_at(parameter, text, ':', kAccepted);
  const SparsityRange range{parse_number(parameter, lo, 0, 1, kAccepted),
                            parse_number(parameter, hi, 0, 1, kAccepted)};
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", kAccepted);
  return range;
}

std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter, const std::string& text) {
  const auto [part, whole] = split_at(parameter, text, '/', "K/N with 0 <= K <= N, N of 1 or more");
  const std::int64_t steps = parse_integer(parameter, whole, 1, kMaxAxisLength);
  return {parse_integer(parameter, part, 0, steps), steps};
}

}  // namespace natten_sim::cli
