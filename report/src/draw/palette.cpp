#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include <natten_sim/report/draw/palette.hpp>

namespace natten_sim::draw {
namespace {

constexpr Rgb hex(std::uint32_t value) {
  return {static_cast<std::uint8_t>(value >> 16u), static_cast<std::uint8_t>((value >> 8u) & 0xFFu),
          static_cast<std::uint8_t>(value & 0xFFu)};
}
constexpr Shade shade(std::uint32_t light, std::uint32_t dark) { return {hex(light), hex(dark)}; }

constexpr Shade kBackground = shade(0xffffff, 0x161a1f);
constexpr Rgb kBlackInk = hex(0x000000), kWhiteInk = hex(0xffffff);

// Found by a search over hue, lightness and chroma that maximizes the least distance between two of them
// for normal sight, deuteranopia and protanopia; the tests state that distance.
constexpr std::array<Shade, kCategories> kCategory = {
    shade(0x0072b2, 0x4aa8f0),  // blue
    shade(0xe06a10, 0xf08c3a),  // orange
    shade(0x339988, 0xaaffcc),  // teal
    shade(0x772266, 0xbb4488),  // magenta
    shade(0x775511, 0xffcc33),  // gold
    shade(0x2299dd, 0x77ddff),  // sky
    shade(0x6600ff, 0x8855dd),  // violet
    shade(0x661111, 0xdd2222),  // red
};

// From the background's side to the far one; the steps between are mixed linearly in sRGB.
constexpr std::array kSequentialLight = {hex(0xedf4fb), hex(0x7fb4dc), hex(0x1f6fae), hex(0x08305f)};
constexpr std::array kSequentialDark = {hex(0x1e2833), hex(0x1f5a8c), hex(0x4aa8f0), hex(0xd3ecff)};
constexpr std::array kDivergingLight = {hex(0xb04a00), hex(0xf0a868), hex(0xf5f5f5), hex(0x78b4e0),
                                        hex(0x005a9c)};
constexpr std::array kDivergingDark = {hex(0xffa552), hex(0x8a5220), hex(0x2b3138), hex(0x235f90),
                                       hex(0x66bdff)};

Rgb mix(Rgb a, Rgb b, double share_of_b) {
  const auto channel = [&](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::lround(x + (y - x) * share_of_b));
  };
  return {channel(a.red, b.red), channel(a.green, b.green), channel(a.blue, b.blue)};
}

Rgb along(std::span<const Rgb> stops, double fraction) {
  const double at = fraction * static_cast<double>(stops.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  return mix(stops[first], stops[first + 1], at - static_cast<double>(first));
}

Shade toned(const Shade& plain, Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return plain;
    case Tone::kSoft:
      return {mix(plain.light, kBackground.light, 0.6), plain.dark};
    case Tone::kStrong:
      return {plain.light, mix(plain.dark, kBackground.dark, 0.55)};
  }
  return plain;
}

double luminance(Rgb color) {
  const auto linear = [](std::uint8_t value) {
    const double v = value / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

struct NamedShade {
  const char* name;
  Shade shade;
};

NamedShade of_role(Role role) {
  switch (role) {
    case Role::kBackground:
      return {"ground", kBackground};
    case Role::kText:
      return {"text", shade(0x1b1f24, 0xe8eaed)};
    case Role::kMutedText:
      return {"muted", shade(0x57606a, 0xa4adb8)};
    case Role::kAxis:
      return {"axis", shade(0x6b7480, 0x8b949e)};
    case Role::kGrid:
      return {"grid", shade(0xe2e6ea, 0x2f363e)};
    case Role::kOutline:
      return {"outline", shade(0x000000, 0xffffff)};
    case Role::kMark:
      return {"mark", shade(0x3a4048, 0xc9d1d9)};
    case Role::kBand:
      return {"band", shade(0xe9edf2, 0x262d35)};
    case Role::kTileFull:
      return {"full", kCategory[0]};
    case Role::kTilePartial:
      return {"partial", shade(0xf2a65a, 0xb56a22)};
    case Role::kTileSkipped:
      return {"skipped", shade(0xeceff1, 0x272d34)};
    case Role::kMissing:
      return {"missing", shade(0xd9dde1, 0x3a414a)};
  }
  return {"text", {}};
}

}  // namespace

Paint Paint::role(Role role) {
  const NamedShade found = of_role(role);
  return {found.name, found.shade};
}

Paint Paint::category(std::size_t index, Tone tone) {
  const std::size_t at = index % kCategories;
  const char* const suffix = tone == Tone::kSoft ? "-soft" : tone == Tone::kStrong ? "-strong" : "";
  return {fmt::format("c{}{}", at, suffix), toned(kCategory.at(at), tone)};
}

Paint Paint::sequential(double fraction) {
  const double clamped = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
  const auto step = static_cast<int>(std::lround(clamped * kRampSteps));
  const double at = static_cast<double>(step) / kRampSteps;
  return {fmt::format("r{}", step), {along(kSequentialLight, at), along(kSequentialDark, at)}};
}

Paint Paint::diverging(double fraction) {
  const double clamped = std::isnan(fraction) ? 0.0 : std::clamp(fraction, -1.0, 1.0);
  const auto step = static_cast<int>(std::lround(clamped * kRampSteps / 2)) + kRampSteps / 2;
  const double at = static_cast<double>(step) / kRampSteps;
  return {fmt::format("d{}", step), {along(kDivergingLight, at), along(kDivergingDark, at)}};
}

Paint Paint::ink() const {
  const auto on = [](Rgb color) {
    return contrast(color, kBlackInk) >= contrast(color, kWhiteInk) ? kBlackInk : kWhiteInk;
  };
  const Shade ink{on(shade_.light), on(shade_.dark)};
  return {fmt::format("ink-{}{}", ink.light == kBlackInk ? 'b' : 'w', ink.dark == kBlackInk ? 'b' : 'w'),
          ink};
}

std::string to_hex(Rgb color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

}  // namespace natten_sim::draw
