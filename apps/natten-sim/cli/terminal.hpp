#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>

namespace natten_sim::cli {

/// When output has colours: on a terminal, unless NO_COLOR is set to anything (no-color.org); or as told.
enum class ColorWhen { kAuto, kAlways, kNever };

/// The columns of a page: COLUMNS where it is set, else those of the terminal that stdout is, else 80. At
/// least 40.
[[nodiscard]] int page_width();

/// What an emphasised text is.
enum class Emphasis { kHeading, kOption, kError, kHint };

/// Colours of one stream.
class Palette {
 public:
  explicit Palette(bool colored) : colored_(colored) {}
  [[nodiscard]] std::string paint(Emphasis emphasis, const std::string& text) const;
  [[nodiscard]] bool colored() const { return colored_; }

 private:
  bool colored_;
};

[[nodiscard]] Palette palette_of(std::FILE* stream, ColorWhen when);

/// The value of --color among the words of a command line that may not be parsed yet; kAuto without a valid
/// one.
[[nodiscard]] ColorWhen color_in(const std::vector<std::string>& words);

/// For errors and notes, of the whole run.
void set_remark_color(ColorWhen when);
[[nodiscard]] Palette remark_palette();

}  // namespace natten_sim::cli

template <>
struct natten_sim::NamesOf<natten_sim::cli::ColorWhen> {
  static constexpr const char* kConcept = "color";
  static constexpr Name<cli::ColorWhen> kTable[] = {{cli::ColorWhen::kAuto, "auto"},
                                                    {cli::ColorWhen::kAlways, "always"},
                                                    {cli::ColorWhen::kNever, "never"}};
};
