#include <array>
#include <cmath>
#include <set>
#include <vector>

#include <natten_sim/report/draw/palette.hpp>

#include "catch.hpp"

namespace draw_palette_test {

using namespace natten_sim::draw;

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
constexpr Matrix kDeuteranopia = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kProtanopia = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
// Ottosson 2020: linear sRGB to cone responses, and their cube roots to OKLab.
constexpr Matrix kToCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                              {0.2119034982, 0.6806995451, 0.1073969566},
                              {0.0883024619, 0.2817188376, 0.6299787005}}};
constexpr Matrix kToOklab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                              {1.9779984951, -2.4285922050, 0.4505937099},
                              {0.0259040371, 0.7827717662, -0.8086757660}}};

Vector times(const Matrix& m, const Vector& v) {
  Vector result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result[i] += m[i][j] * v[j];
  return result;
}

Vector oklab(Rgb color, const Matrix& sight) {
  Vector linear{};
  const std::array<double, 3> channels = {color.red / 255.0, color.green / 255.0, color.blue / 255.0};
  for (std::size_t i = 0; i < 3; ++i)
    linear[i] = channels[i] <= 0.04045 ? channels[i] / 12.92 : std::pow((channels[i] + 0.055) / 1.055, 2.4);
  linear = times(sight, linear);
  for (double& each : linear) each = std::fmin(std::fmax(each, 0), 1);
  Vector cones = times(kToCones, linear);
  for (double& each : cones) each = std::cbrt(each);
  return times(kToOklab, cones);
}

/// 100 times the distance in OKLab.
double distance(Rgb a, Rgb b, const Matrix& sight) {
  const Vector p = oklab(a, sight), q = oklab(b, sight);
  return 100 * std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

void check_apart(const Paint& a, const Paint& b, double least) {
  INFO(a.name() << " and " << b.name());
  for (const Matrix& sight : {kNormal, kDeuteranopia, kProtanopia}) {
    CHECK(distance(a.shade().light, b.shade().light, sight) >= least);
    CHECK(distance(a.shade().dark, b.shade().dark, sight) >= least);
  }
}

TEST_CASE("black and white are 100 apart in OKLab, for every sight") {
  for (const Matrix& sight : {kNormal, kDeuteranopia, kProtanopia})
    CHECK(std::abs(distance({0, 0, 0}, {255, 255, 255}, sight) - 100) < 0.5);
  // Red and green of equal lightness, which deuteranopia brings together.
  CHECK(distance({200, 0, 0}, {0, 128, 0}, kNormal) > 2 * distance({200, 0, 0}, {0, 128, 0}, kDeuteranopia));
}

TEST_CASE("any two categories are 12 apart for normal sight, deuteranopia and protanopia, light and dark") {
  for (std::size_t i = 0; i < kCategories; ++i)
    for (std::size_t j = 0; j < i; ++j) check_apart(Paint::category(i), Paint::category(j), 12);
}

TEST_CASE("full, partial and skipped tiles are 15 apart") {
  const std::vector<Role> roles = {Role::kTileFull, Role::kTilePartial, Role::kTileSkipped};
  for (std::size_t i = 0; i < roles.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) check_apart(Paint::role(roles[i]), Paint::role(roles[j]), 15);
}

TEST_CASE("a group's light tone is 12 apart from its dark one") {
  for (std::size_t i = 0; i < kCategories; ++i) {
    const Paint soft = Paint::category(i, Tone::kSoft), strong = Paint::category(i, Tone::kStrong);
    check_apart(soft, strong, 12);
    for (const Rgb Shade::*scheme : {&Shade::light, &Shade::dark})
      CHECK(oklab(soft.shade().*scheme, kNormal)[0] > oklab(strong.shade().*scheme, kNormal)[0]);
  }
}

TEST_CASE("categories have a contrast of 3 and text one of 4.5 from the background") {
  const Shade ground = Paint::role(Role::kBackground).shade();
  for (std::size_t i = 0; i < kCategories; ++i) {
    const Shade shade = Paint::category(i).shade();
    CHECK(contrast(shade.light, ground.light) >= 3);
    CHECK(contrast(shade.dark, ground.dark) >= 3);
  }
  for (const Role role : {Role::kText, Role::kMutedText}) {
    CHECK(contrast(Paint::role(role).shade().light, ground.light) >= 4.5);
    CHECK(contrast(Paint::role(role).shade().dark, ground.dark) >= 4.5);
  }
}

TEST_CASE("contrast is 21 between black and white, 1 to itself, and symmetric") {
  CHECK(std::abs(contrast({0, 0, 0}, {255, 255, 255}) - 21) < 1e-9);
  CHECK(contrast({255, 255, 255}, {0, 0, 0}) == contrast({0, 0, 0}, {255, 255, 255}));
  CHECK(contrast({10, 20, 30}, {10, 20, 30}) == 1);
}

TEST_CASE("text on every colour of the ramps, tones and tiles can be read: a contrast of 4.5") {
  std::vector<Paint> all = {Paint::role(Role::kMissing), Paint::role(Role::kTileFull)};
  for (int step = 0; step <= kRampSteps; ++step) {
    all.push_back(Paint::sequential(static_cast<double>(step) / kRampSteps));
    all.push_back(Paint::diverging(2.0 * step / kRampSteps - 1));
  }
  for (std::size_t i = 0; i < kCategories; ++i) all.push_back(Paint::category(i, Tone::kSoft));
  for (const Paint& paint : all) {
    INFO(paint.name());
    CHECK(contrast(paint.shade().light, paint.ink().shade().light) >= 4.5);
    CHECK(contrast(paint.shade().dark, paint.ink().shade().dark) >= 4.5);
  }
}

TEST_CASE("the sequential ramp runs from the background away, the diverging one away from its middle") {
  const auto lightness = [](const Paint& paint, const Rgb Shade::*scheme) {
    return oklab(paint.shade().*scheme, kNormal)[0];
  };
  for (int step = 1; step <= kRampSteps; ++step) {
    const Paint before = Paint::sequential((step - 1.0) / kRampSteps),
                at = Paint::sequential(1.0 * step / kRampSteps);
    CHECK(lightness(at, &Shade::light) < lightness(before, &Shade::light));
    CHECK(lightness(at, &Shade::dark) > lightness(before, &Shade::dark));
  }
  for (int step = 1; step <= kRampSteps / 2; ++step) {
    for (const int side : {-1, 1}) {
      const Paint nearer = Paint::diverging(side * (step - 1) * 2.0 / kRampSteps);
      const Paint farther = Paint::diverging(side * step * 2.0 / kRampSteps);
      CHECK(lightness(farther, &Shade::light) < lightness(nearer, &Shade::light));
      CHECK(lightness(farther, &Shade::dark) > lightness(nearer, &Shade::dark));
    }
  }
  check_apart(Paint::diverging(-1), Paint::diverging(1), 15);
}

TEST_CASE("ramps clamp, and take what is not a number as 0") {
  CHECK(Paint::sequential(7).name() == Paint::sequential(1).name());
  CHECK(Paint::sequential(-1).name() == Paint::sequential(0).name());
  CHECK(Paint::sequential(std::nan("")).name() == Paint::sequential(0).name());
  CHECK(Paint::diverging(-7).name() == Paint::diverging(-1).name());
  CHECK(Paint::diverging(std::nan("")).name() == Paint::diverging(0).name());
}

TEST_CASE("categories repeat, and different colours have different names") {
  CHECK(Paint::category(kCategories + 2).shade() == Paint::category(2).shade());
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCategories; ++i)
    for (const Tone tone : {Tone::kPlain, Tone::kSoft, Tone::kStrong})
      names.insert(Paint::category(i, tone).name());
  CHECK(names.size() == 3 * kCategories);
  CHECK(to_hex({0, 10, 255}) == "#000aff");
}

}  // namespace draw_palette_test
