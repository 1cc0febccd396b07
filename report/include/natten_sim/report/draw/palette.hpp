#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace natten_sim::draw {

/// The colours of every picture and page, each for a light and a dark background.
///
///     Paint::role(Role::kTileFull)      what a thing is
///     Paint::category(2)                the third series; Paint::category(2, Tone::kSoft) its light tint
///     Paint::diverging(-0.5)            halfway between the middle of a scale and its lower end
///
/// Colours are picked by role or index, never by a label. The eight categories differ pairwise by at least
/// 12 (100 times the distance in OKLab, Ottosson 2020) for normal sight, deuteranopia and protanopia
/// (simulated after Machado et al. 2009), and by a contrast of 3:1 from the background.

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

/// One colour in both schemes.
struct Shade {
  Rgb light, dark;
  bool operator==(const Shade&) const = default;
};

enum class Role {
  kBackground,
  kText,
  kMutedText,
  kAxis,
  kGrid,
  kOutline,  ///< what must stand out: the critical path, a Q tile
  kMark,     ///< dashed lines with a label
  kBand,     ///< shaded ranges behind a curve
  kTileFull,
  kTilePartial,
  kTileSkipped,
  kMissing,  ///< a cell without a number
};

/// How a category is shaded. On a bar, kSoft is the lighter and kStrong the darker one in both schemes.
enum class Tone { kPlain, kSoft, kStrong };

inline constexpr std::size_t kCategories = 8;
inline constexpr int kRampSteps = 32;  ///< of the sequential ramp; 16 on each side of the diverging one

/// A colour by its meaning. Cheap to copy.
class Paint {
 public:
  [[nodiscard]] static Paint role(Role role);
  /// Repeats after kCategories.
  [[nodiscard]] static Paint category(std::size_t index, Tone tone = Tone::kPlain);
  /// 0: next to the background, 1: farthest from it. Clamped; not a number counts as 0.
  [[nodiscard]] static Paint sequential(double fraction);
  /// -1: orange, 0: neutral, 1: blue. Clamped; not a number counts as 0.
  [[nodiscard]] static Paint diverging(double fraction);

  [[nodiscard]] Shade shade() const { return shade_; }
  /// Black or white, whichever is easier to read on this colour in each scheme.
  [[nodiscard]] Paint ink() const;
  /// Same colour, same name: letters, digits, hyphens. Names a class in style sheets.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Paint(std::string name, Shade shade) : name_(std::move(name)), shade_(shade) {}
  std::string name_;
  Shade shade_;
};

/// "#rrggbb".
[[nodiscard]] std::string to_hex(Rgb color);

/// Contrast of two colours after WCAG 2: 1 (equal) to 21 (black on white).
[[nodiscard]] double contrast(Rgb a, Rgb b);

}  // namespace natten_sim::draw
