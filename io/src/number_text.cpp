#include "number_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/mask.hpp>

namespace natten_sim::text {
namespace {

std::vector<std::string> axis_words(const std::string& parameter, const std::string& text) {
  std::string words = text;
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == ',' || c == 'X'; }, 'x');
  std::vector<std::string> parts = split(words, 'x');
  if (std::find(parts.begin(), parts.end(), "") != parts.end())
    throw InvalidParameter(parameter, "'" + text + "'", "values like 30 48 80, 30x48x80 or 30,48,80");
  return parts;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::int64_t integer(const std::string& parameter, const std::string& text, std::int64_t lo,
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

Extents extents(const std::string& parameter, const std::string& text) {
  const std::vector<std::string> parts = axis_words(parameter, text);
  if (parts.size() > kMaxRank)
    throw InvalidParameter(parameter, std::to_string(parts.size()) + " values", "1 to 4 values, one an axis");
  Extents sizes;
  for (const std::string& part : parts) sizes.push_back(integer(parameter, part, 1, kMaxAxisLength));
  return sizes;
}

PerAxis<bool> booleans(const std::string& parameter, const std::string& text) {
  PerAxis<bool> values;
  for (std::string part : axis_words(parameter, text)) {
    std::transform(part.begin(), part.end(), part.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (part != "true" && part != "false" && part != "1" && part != "0")
      throw InvalidParameter(parameter, "'" + part + "'", "true, false, 1 or 0, one an axis");
    values.push_back(part == "true" || part == "1");
  }
  return values;
}

}  // namespace natten_sim::text
