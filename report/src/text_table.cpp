#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <natten_sim/core/wide_integer.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {

std::string grouped(Int128 value) {
  std::string digits = decimal(value);
  for (std::size_t at = digits.size(); at > (value < 0 ? 4U : 3U);) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_text(double value) {
  constexpr double kWhole = 999.5, kMost = 1e15;  // from what three digits would round to 1e+03 on
  const bool whole = std::abs(value) >= kWhole && std::abs(value) < kMost;
  return whole ? grouped(std::llround(value)) : fmt::format("{:.3g}", value);
}

std::string counted(Int128 count, std::string_view name) {
  return grouped(count) + " " + std::string(name) + (count == 1 ? "" : "s");
}

std::string ratio_text(double ratio, int decimals) {
  constexpr double kMost = std::numeric_limits<double>::max(), kMany = 1e6;
  if (ratio >= kMost) return fmt::format("over {:.2e}", kMost);
  return ratio < kMany ? fmt::format("{:.{}f}", ratio, decimals) : fmt::format("{:.2e}", ratio);
}

std::string wrapped_text(std::string_view text, std::size_t columns) {
  constexpr std::string_view kIndent = "    ";
  std::string lines;
  std::size_t line = 0;  // where the last line begins
  while (!text.empty()) {
    const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find(' ', blanks), text.size());
    if (blanks < end && lines.size() > line && lines.size() + end - line > columns) {
      lines += "\n";
      line = lines.size();
      lines += std::string(kIndent) + std::string(text.substr(blanks, end - blanks));
    } else {
      lines += text.substr(0, end);
    }
    text.remove_prefix(end);
  }
  return lines + "\n";
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, LastColumn last) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool left = i == 0 || (last == LastColumn::kLeft && i + 1 == widths.size());
      line += i == 0 ? "" : "  ";
      line += left ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace natten_sim::report
