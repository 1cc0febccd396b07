#include <natten_sim/study/describe/range_text.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim::study {
namespace {

bool has_colon(const std::string& word) { return word.find(':') != std::string::npos; }

IntRange parse_range(const std::string& parameter, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw InvalidParameter(parameter, "'" + text + "'", "LO:HI, two integers of 1 or more, both included");
  const IntRange range{parse_integer(parameter, text.substr(0, colon), 1, kMaxAxisLength),
                       parse_integer(parameter, text.substr(colon + 1), 1, kMaxAxisLength)};
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", "LO:HI with LO <= HI");
  return range;
}

SparsityRange parse_two_shares(const std::string& parameter, const std::string& lo, const std::string& hi) {
  constexpr const char* kAccepted =
      "LO:HI, such as 0.9:0.92 or 90%:92%, with 0 <= LO <= HI <= 1, both included";
  const std::string text = lo + ":" + hi;
  const SparsityRange range{parse_share(parameter, lo, kAccepted), parse_share(parameter, hi, kAccepted)};
  // 1:5 may mean 1% to 5%, and 0.5:90 half a per cent; zero is the same in both.
  const auto in_per_cent = [&](const std::string& bound) {
    return bound.ends_with('%') || parse_number(parameter, bound, 0, 100, kAccepted) > 1;
  };
  if (in_per_cent(lo) != in_per_cent(hi) && range.lo > 0) {
    throw InvalidParameter(parameter, "'" + text + "'",
                           "two fractions or two in per cent; with a % behind both there is no doubt");
  }
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", kAccepted);
  return range;
}

}  // namespace

PerAxis<IntRange> parse_ranges(const std::string& parameter, const std::vector<std::string>& words) {
  if (words.size() == 2 && !has_colon(words[0]) && !has_colon(words[1]))
    return {parse_range(parameter, words[0] + ":" + words[1])};
  require_axes(parameter, words.size());
  PerAxis<IntRange> ranges;
  for (const std::string& word : words) ranges.push_back(parse_range(parameter, word));
  return ranges;
}

SparsityRange parse_shares(const std::string& parameter, const std::vector<std::string>& words) {
  constexpr const char* kAccepted = "a range LO:HI, such as 0.9:0.92 or 90%:92%, both included, or HI for at most HI";
  if (words.empty() || words.size() > 2)
    throw InvalidParameter(parameter, std::to_string(words.size()) + " values", kAccepted);
  if (words.size() == 2) return parse_two_shares(parameter, words[0], words[1]);
  const std::size_t colon = words[0].find(':');
  if (colon == std::string::npos) return {0, parse_share(parameter, words[0], kAccepted)};
  return parse_two_shares(parameter, words[0].substr(0, colon), words[0].substr(colon + 1));
}

}  // namespace natten_sim::study
