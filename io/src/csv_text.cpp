#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <natten_sim/io/csv_text.hpp>

namespace natten_sim {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number with one character, a blank, for each blank or apostrophe that separates thousands.
std::string with_blanks(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSeparators = {"'", "\u00a0", "\u202f", "\u2019"};
  std::string plain;
  while (!text.empty()) {
    const auto* const separator = std::find_if(kSeparators.begin(), kSeparators.end(),
                                               [&](std::string_view each) { return text.starts_with(each); });
    const bool separates = separator != kSeparators.end();
    plain += separates ? ' ' : text.front();
    text.remove_prefix(separates ? separator->size() : 1);
  }
  return plain;
}

/// "1,234,567" without its separators; empty unless each but the first group has three digits.
std::string joined_groups(std::string_view text, char separator) {
  std::string digits;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    const std::string_view group = text.substr(begin, end - begin);
    const bool first = begin == 0, only = first && end == text.size();
    const bool sized = only || (first ? !group.empty() && group.size() <= 3 : group.size() == 3);
    if (!sized || !std::all_of(group.begin(), group.end(), is_digit)) return "";
    digits += group;
    begin = end + 1;
  }
  return digits;
}

/// "e-05"
bool is_power(std::string_view text) {
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::optional<std::vector<std::string>> csv_cells(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(std::move(cells));
}

std::optional<double> localised_number(std::string_view number, DecimalMark mark) {
  const std::size_t e = number.find_first_of("eE");
  const std::string_view power = e == std::string_view::npos ? std::string_view{} : number.substr(e);
  if (!power.empty() && !is_power(power)) return std::nullopt;
  const std::string text = with_blanks(number.substr(0, e));
  const std::size_t point = text.find(mark == DecimalMark::kPoint ? '.' : ',');
  const std::string_view whole = std::string_view(text).substr(0, point);
  const std::string_view decimals =
      point == std::string::npos ? std::string_view{} : std::string_view(text).substr(point + 1);
  const char other = mark == DecimalMark::kPoint ? ',' : '.';
  std::string digits = joined_groups(whole, whole.find(' ') != std::string_view::npos ? ' ' : other);
  const bool has_decimals = point != std::string::npos;
  if (digits.empty() || (has_decimals && decimals.empty()) ||
      !std::all_of(decimals.begin(), decimals.end(), is_digit))
    return std::nullopt;
  if (has_decimals) digits += "." + std::string(decimals);
  digits += power;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

DecimalEvidence decimal_evidence(std::string_view number) {
  using Kind = DecimalEvidence::Kind;
  const auto reads = [&](DecimalMark mark) { return localised_number(number, mark).has_value(); };
  const bool by_point = reads(DecimalMark::kPoint), by_comma = reads(DecimalMark::kComma);
  if (by_point != by_comma) return {Kind::kDecided, by_point ? DecimalMark::kPoint : DecimalMark::kComma};
  const std::size_t mark = number.find_first_of(".,");
  if (!by_point || mark == std::string_view::npos) return {};
  // Either reading fits: one mark before three digits. No number of thousands begins with a zero.
  const bool is_point = number[mark] == '.';
  if (number.front() == '0') return {Kind::kDecided, is_point ? DecimalMark::kPoint : DecimalMark::kComma};
  return {Kind::kDoubtful, is_point ? DecimalMark::kComma : DecimalMark::kPoint};
}

}  // namespace natten_sim
