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

double parse_share(const std::string& parameter, const std::string& text, const char* accepted) {
  if (!text.ends_with('%')) return parse_number(parameter, text, 0, 1, accepted);
  return parse_number(parameter, text.substr(0, text.size() - 1), 0, 100, accepted) / 100;
}

SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text) {
  constexpr const char* kAccepted = "LO:HI with 0 <= LO <= HI <= 1, or in per cent, both included";
  const auto [lo, hi] = split_at(parameter, text, ':', kAccepted);
  const SparsityRange range{parse_share(parameter, lo, kAccepted),
                            parse_share(parameter, hi, kAccepted)};
  if (range.lo > range.hi) throw InvalidParameter(parameter, "'" + text + "'", kAccepted);
  return range;
}

std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter, const std::string& text) {
  const auto [part, whole] = split_at(parameter, text, '/', "K/N with 0 <= K <= N, N of 1 or more");
  const std::int64_t steps = parse_integer(parameter, whole, 1, kMaxAxisLength);
  return {parse_integer(parameter, part, 0, steps), steps};
}

}  // namespace natten_sim::cli
