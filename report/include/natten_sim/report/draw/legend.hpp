#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>

namespace natten_sim::draw {

/// The head of a picture: title, the problem below it, and a legend that wraps to the width.
///
///     double y = draw_heading(document, {.title = "Misses", .subtitle = "64k tokens, head dim 128"}, 16,
///     700); y = draw_legend(document, {{"cyclic", LegendKey::kLine, Paint::category(0)}}, 16, y, 700);
///
/// Both return where the next thing may start. Any length of text; long labels are cut to the width.

struct Heading {
  std::string title;     ///< bold
  std::string subtitle;  ///< the problem, muted; either may be empty
};

enum class LegendKey { kSwatch, kLine, kDashedLine, kDottedLine, kSymbol, kLineAndSymbol, kOutline, kRing };

struct LegendEntry {
  std::string label;
  LegendKey key = LegendKey::kSwatch;
  Paint paint = Paint::role(Role::kText);
  Symbol symbol = Symbol::kCircle;
};

/// From the top of the document to below the heading, in pixels.
double draw_heading(Document& document, const Heading& heading, double x, double width);

/// Rows of entries from `y` down; `y` itself without entries.
double draw_legend(Document& document, const std::vector<LegendEntry>& entries, double x, double y,
                   double width);

/// Swatches of the groups 0 to `groups`-1 of one kind, such as the heads 0 to 31: one each, up to
/// kCategories; beyond, one a colour that names some of the groups that share it ("head 0, 8, ... 24").
[[nodiscard]] std::vector<LegendEntry> group_legend(const std::string& kind, std::size_t groups);

/// A ramp of colour with labels below: for heat maps.
struct RampLegend {
  struct Stop {
    double fraction = 0;  ///< 0 to 1 along the ramp
    std::string label;
  };
  bool diverging = false;
  std::vector<Stop> stops;
  std::string low_note, high_note;  ///< before and behind the ramp
};
double draw_ramp(Document& document, const RampLegend& ramp, double x, double y, double width);

}  // namespace natten_sim::draw
