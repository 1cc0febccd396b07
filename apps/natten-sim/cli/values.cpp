#include "cli/values.hpp"

#include <charconv>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {
namespace {

std::pair<std::string, std::string> split_at(const std::string& parameter, const std::string& text,
                                             char separator, const char* accepted) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                    const char* accepted) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  const bool in_range = error == std::errc() && value >= lo && value <= hi;
  if (whole && in_range) return value;
  throw InvalidParameter(parameter, "'" + text + "'", accepted);
}

double parse_factor(const std::string& parameter, const std::string& text, double lo, double hi,
                    const char* accepted) {
  const bool times = text.size() > 1 && text.ends_with('x');
  return parse_number(parameter, times ? text.substr(0, text.size() - 1) : text, lo, hi, accepted);
}

IntRange parse_range(const std::string& parameter, const std::string& text) {
  const auto [lo, hi] = split_at(parameter, text, ':', "LO:HI, two integers of 1 or more, both included");
  const IntRange range{parse_integer(parameter, lo, 1, kMaxAxisLength),
                       parse_integer(parameter, hi, 1, kMaxAxisLength)};
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", "LO:HI with LO <= HI");
  return range;
}

double parse_share(const std::string& parameter, const std::string& text, const char* accepted) {
  if (text.ends_with('%'))
    return parse_number(parameter, text.substr(0, text.size() - 1), 0, 100, accepted) / 100;
  return share_of_number(parse_number(parameter, text, 0, 100, accepted));
}

SparsityRange parse_share_range(const std::string& parameter, const std::string& lo, const std::string& hi) {
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

SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text) {
  constexpr const char* kAccepted = "a range LO:HI, such as 0.9:0.92 or 90%:92%, both included, or HI for at most HI";
  if (text.find(':') == std::string::npos) return {0, parse_share(parameter, text, kAccepted)};
  const auto [lo, hi] = split_at(parameter, text, ':', kAccepted);
  return parse_share_range(parameter, lo, hi);
}

std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter, const std::string& text,
                                                  std::int64_t lowest, const char* accepted) {
  const auto [part, whole] = split_at(parameter, text, '/', accepted);
  const std::int64_t of = parse_integer(parameter, whole, 1, kMaxAxisLength);
  const std::int64_t number = parse_integer(parameter, part, 0, kMaxAxisLength);
  if (number < lowest || number > of) throw InvalidParameter(parameter, "'" + text + "'", accepted);
  return {number, of};
}

}  // namespace natten_sim::cli
