#include <array>
#include <cstdint>

#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::draw {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr double kOther = 0.64, kWide = 1.0;  // em: letters outside ASCII; ideographs and the like

// Advance widths of DejaVu Sans in hundredths of an em, from ' ' to '~'.
constexpr std::array<int, 95> kRegular = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
constexpr std::array<int, 95> kBold = {
    35, 46, 52, 84, 70, 100, 87, 31,  46,  46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70,  70, 70,
    70, 70, 40, 40, 84, 84,  84, 58,  100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85,
    73, 85, 77, 72, 68, 81,  77, 110, 77,  72, 73, 46, 37, 46, 84, 50, 50, 67, 72, 59, 72, 68,  44, 72,
    71, 34, 34, 67, 34, 104, 71, 69,  72,  72, 49, 60, 48, 71, 65, 92, 65, 65, 58, 71, 37, 71,  84};

bool allowed(char32_t code) {
  if (code == '\t' || code == '\n') return true;
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if (code >= 0xD800 && code < 0xE000) return false;
  if (code >= 0xFDD0 && code < 0xFDF0) return false;
  return (code & 0xFFFE) != 0xFFFE && code <= 0x10FFFF;
}

/// Takes one character from the front of `rest`, which is not empty. U+FFFD for a byte that starts none.
char32_t take(std::string_view& rest) {
  const auto lead = static_cast<unsigned char>(rest.front());
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xC2 ? 0
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF5 ? 4
                                         : 0;
  char32_t code = size <= 1 ? lead : lead & (0x7Fu >> size);
  bool valid = size > 0 && rest.size() >= size;
  for (std::size_t i = 1; valid && i < size; ++i) {
    const auto next = static_cast<unsigned char>(rest[i]);
    valid = (next & 0xC0u) == 0x80u;
    code = (code << 6u) | (next & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= kLeast.at(size);
  rest.remove_prefix(valid ? size : 1);
  if (!valid) return kReplacement;
  if (code == '\r') return ' ';
  return allowed(code) ? code : kReplacement;
}

void append(std::string& text, char32_t code) {
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80u | ((code >> shift) & 0x3Fu)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0u | (code >> 6u));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0u | (code >> 12u));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0u | (code >> 18u));
    tail(12);
    tail(6);
    tail(0);
  }
}

double em_of(char32_t code, bool bold) {
  if (code == '\t' || code == '\n') code = ' ';
  if (code >= ' ' && code <= '~') return (bold ? kBold : kRegular).at(code - U' ') * 0.01;
  return code >= 0x2000 ? kWide : bold ? kOther * 1.1 : kOther;
}

/// Cuts as much as fits off the front of `text`: at least one character.
std::string_view prefix(std::string_view text, double width, double size, bool bold) {
  std::string_view rest = text;
  double used = 0;
  while (!rest.empty()) {
    std::string_view next = rest;
    used += em_of(take(next), bold) * size;
    if (used > width && rest.size() < text.size()) break;
    rest = next;
  }
  return text.substr(0, text.size() - rest.size());
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) append(result, take(text));
  return result;
}

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    switch (const char32_t code = take(text)) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        append(result, code);
    }
  }
  return result;
}

double text_width(std::string_view text, double size, bool bold) {
  double em = 0;
  while (!text.empty()) em += em_of(take(text), bold);
  return em * size;
}

std::string shortened(std::string_view text, double width, double size, bool bold) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  constexpr std::string_view kEllipsis = "\u2026";
  return std::string(prefix(text, width - text_width(kEllipsis, size, bold), size, bold)) +
         std::string(kEllipsis);
}

std::vector<std::string> wrapped(std::string_view text, double width, double size, bool bold) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find_first_of(" \n");
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line.empty() && text_width(line + " " + std::string(word), size, bold) > width) {
      lines.push_back(line);
      line.clear();
    }
    while (line.empty() && text_width(word, size, bold) > width) {
      const std::string_view fits = prefix(word, width, size, bold);
      lines.emplace_back(fits);
      word.remove_prefix(fits.size());
      if (word.empty()) break;
    }
    if (word.empty()) continue;
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace natten_sim::draw
