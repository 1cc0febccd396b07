#include "cli/terminal.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <sys/ioctl.h>
#include <unistd.h>

namespace natten_sim::cli {
namespace {

constexpr int kUsualWidth = 80, kLeastWidth = 40;

ColorWhen& remark_color() {
  static ColorWhen when = ColorWhen::kAuto;
  return when;
}

std::optional<int> stated_width() {
  const char* columns = std::getenv("COLUMNS");
  if (columns == nullptr) return std::nullopt;
  int width = 0;
  const char* end = columns + std::strlen(columns);
  const auto [stop, error] = std::from_chars(columns, end, width);
  if (error != std::errc() || stop != end || width <= 0) return std::nullopt;
  return width;
}

std::optional<int> terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

const char* code_of(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::kHeading: return "1";
    case Emphasis::kOption: return "36";
    case Emphasis::kError: return "1;31";
    case Emphasis::kHint: return "32";
  }
  return "0";
}

}  // namespace

int page_width() {
  std::optional<int> width = stated_width();
  if (!width) width = terminal_width();
  return std::max(width.value_or(kUsualWidth), kLeastWidth);
}

std::string Palette::paint(Emphasis emphasis, const std::string& text) const {
  if (!colored_ || text.empty()) return text;
  return std::string("\033[") + code_of(emphasis) + "m" + text + "\033[0m";
}

Palette palette_of(std::FILE* stream, ColorWhen when) {
  if (when != ColorWhen::kAuto) return Palette(when == ColorWhen::kAlways);
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::strcmp(terminal, "dumb") == 0;
  return Palette((refused == nullptr || *refused == '\0') && !dumb && isatty(fileno(stream)) != 0);
}

ColorWhen color_in(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string value;
    if (words[i].starts_with("--color=")) value = words[i].substr(std::strlen("--color="));
    if (words[i] == "--color" && i + 1 < words.size()) value = words[i + 1];
    for (const Name<ColorWhen>& name : NamesOf<ColorWhen>::kTable) {
      if (value == name.name) return name.value;
    }
  }
  return ColorWhen::kAuto;
}

void set_remark_color(ColorWhen when) { remark_color() = when; }

Palette remark_palette() { return palette_of(stderr, remark_color()); }

}  // namespace natten_sim::cli
