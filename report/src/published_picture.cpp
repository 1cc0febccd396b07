#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <natten_sim/report/draw/chart.hpp>
#include <natten_sim/report/published_picture.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;

constexpr std::size_t kMostDots = 60, kMostCurves = 6;

std::string file_name(const std::string& work, const std::string& figure) {
  std::string name = work;
  bool gap = true;
  for (const char letter : figure) {
    const bool kept = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.';
    if (kept && gap) name += '-';
    if (kept) name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    gap = !kept;
  }
  return name;
}

bool has_number(const PublishedRow& row) { return row.published_value || row.ours_value || row.measured; }

std::vector<double> numbers_of(const PublishedPanel& panel) {
  std::vector<double> numbers;
  for (const PublishedRow& row : panel.rows) {
    for (const std::optional<double>& each : {row.published_value, row.ours_value})
      if (each) numbers.push_back(*each);
    if (row.measured) numbers.push_back(row.measured->value);
  }
  return numbers;
}

/// What an axis of these numbers is called.
std::string axis_label(const std::string& unit) { return unit == "x" ? "ratio (x)" : unit; }

/// "measured here, NVIDIA H200", after the first measurement.
std::string measured_label(const PublishedPanel& panel) {
  for (const PublishedRow& row : panel.rows)
    if (row.measured) return "measured here, " + row.measured->device;
  return "measured here";
}

draw::DotPlot dots_of(const PublishedPanel& panel, const draw::Heading& heading) {
  const std::vector<double> numbers = numbers_of(panel);
  draw::DotPlot plot{.heading = heading,
                     .value = {.label = axis_label(panel.unit), .scale = draw::scale_for(numbers)},
                     .series = {"published", "ours"},
                     .rows = {}};
  if (plot.value.scale == draw::Scale::kLog && *std::min_element(numbers.begin(), numbers.end()) <= 0)
    plot.value.scale = draw::Scale::kLinear;  // a zero would have no place
  const bool any = std::any_of(panel.rows.begin(), panel.rows.end(),
                               [](const PublishedRow& row) { return row.measured.has_value(); });
  if (any) plot.series.push_back(measured_label(panel));
  for (const PublishedRow& row : panel.rows) {
    draw::DotRow dots{row.item, {row.published_value, row.ours_value}};
    if (any) dots.values.push_back(row.measured ? std::optional(row.measured->value) : std::nullopt);
    plot.rows.push_back(std::move(dots));
  }
  return plot;
}

std::vector<std::string> series_of(const PublishedPanel& panel) {
  std::vector<std::string> names;
  for (const PublishedRow& row : panel.rows) {
    if (std::find(names.begin(), names.end(), row.place.series) == names.end())
      names.push_back(row.place.series);
  }
  return names;
}

/// One number of the rows of a series, over their axis.
draw::Series line_of(const PublishedPanel& panel, const std::string& name, const std::string& what,
                     std::optional<double> (*value)(const PublishedRow&)) {
  draw::Series series{.label = name.empty() ? what : name + ": " + what, .points = {}};
  for (const PublishedRow& row : panel.rows) {
    if (row.place.series != name) continue;
    if (const std::optional<double> y = value(row)) series.points.push_back({*row.place.at, *y});
  }
  std::stable_sort(series.points.begin(), series.points.end(),
                   [](const draw::Point& a, const draw::Point& b) { return a.x < b.x; });
  return series;
}

draw::CurvePlot curves_of(const PublishedPanel& panel, const draw::Heading& heading) {
  std::vector<double> across;
  for (const PublishedRow& row : panel.rows) across.push_back(*row.place.at);
  draw::CurvePlot plot;
  plot.heading = heading;
  plot.width = 860;
  plot.x = {.label = panel.axis, .scale = draw::scale_for(across)};
  plot.y = {.label = axis_label(panel.unit), .scale = draw::scale_for(numbers_of(panel))};
  const std::vector<std::string> names = series_of(panel);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool alone = names.size() == 1;
    const auto add = [&](const std::string& what, draw::SeriesStyle style, std::size_t kind,
                         std::optional<double> (*value)(const PublishedRow&)) {
      draw::Series series = line_of(panel, names[i], what, value);
      series.style = style;
      series.category = alone ? kind : i;
      series.dashed = kind == 2;
      if (!series.points.empty()) plot.series.push_back(std::move(series));
    };
    add("published", draw::SeriesStyle::kPoints, 0,
        [](const PublishedRow& row) { return row.published_value; });
    add("ours", draw::SeriesStyle::kLine, 1, [](const PublishedRow& row) { return row.ours_value; });
    add(measured_label(panel), draw::SeriesStyle::kLineAndPoints, 2, [](const PublishedRow& row) {
      return row.measured ? std::optional(row.measured->value) : std::nullopt;
    });
  }
  return plot;
}

/// Many rows: ours and what was measured here against what is published.
draw::ScatterPlot cloud_of(const PublishedPanel& panel, const draw::Heading& heading) {
  draw::ScatterPlot plot;
  plot.heading = heading;
  plot.quantity = panel.unit;
  plot.scale = draw::scale_for(numbers_of(panel));
  plot.size = 720;
  plot.across = "published";
  plot.up = "ours or measured here";
  draw::MeasuredSeries ours{"ours", {}}, measured{measured_label(panel), {}};
  for (const PublishedRow& row : panel.rows) {
    if (!row.published_value) continue;
    if (row.ours_value) ours.points.push_back({*row.published_value, *row.ours_value, row.item});
    if (row.measured) measured.points.push_back({*row.published_value, row.measured->value, row.item});
  }
  plot.series.push_back(std::move(ours));
  if (!measured.points.empty()) plot.series.push_back(std::move(measured));
  return plot;
}

void choose_kind(PublishedPanel& panel) {
  std::set<double> places;
  for (const PublishedRow& row : panel.rows)
    if (row.place.at) places.insert(*row.place.at);
  if (!panel.axis.empty() && places.size() > 1 && series_of(panel).size() <= kMostCurves) {
    panel.kind = PublishedPanel::Kind::kCurves;
  } else if (panel.rows.size() > kMostDots) {
    panel.kind = PublishedPanel::Kind::kCloud;
  }
}

}  // namespace

std::vector<PublishedFigure> published_figures(const std::vector<PublishedRow>& rows) {
  std::vector<PublishedFigure> figures;
  for (const PublishedRow& row : rows) {
    auto at = std::find_if(figures.begin(), figures.end(), [&](const PublishedFigure& each) {
      return each.work == row.work && each.figure == row.figure;
    });
    if (at == figures.end())
      at = figures.insert(at, {row.work, row.figure, row.source, file_name(row.work, row.figure), {}});
    at->rows.push_back(row);
  }
  return figures;
}

std::vector<PublishedPanel> panels_of(const PublishedFigure& figure) {
  std::vector<PublishedPanel> panels;
  for (const PublishedRow& row : figure.rows) {
    if (!has_number(row)) continue;
    const std::string axis = row.place.at ? row.place.axis : "";
    auto at = std::find_if(panels.begin(), panels.end(), [&](const PublishedPanel& each) {
      return each.unit == row.place.unit && each.axis == axis;
    });
    if (at == panels.end()) at = panels.insert(at, {PublishedPanel::Kind::kDots, row.place.unit, axis, {}});
    at->rows.push_back(row);
  }
  for (PublishedPanel& panel : panels) choose_kind(panel);
  return panels;
}

std::string heading_of(const PublishedFigure& figure) { return figure.work + ": " + figure.figure; }

draw::Picture published_picture(const PublishedFigure& figure) {
  std::vector<draw::Chart> plots;
  for (const PublishedPanel& panel : panels_of(figure)) {
    const draw::Heading heading =
        plots.empty() ? draw::Heading{heading_of(figure), figure.source} : draw::Heading{};
    switch (panel.kind) {
      case PublishedPanel::Kind::kDots:
        plots.emplace_back(dots_of(panel, heading));
        break;
      case PublishedPanel::Kind::kCurves:
        plots.emplace_back(curves_of(panel, heading));
        break;
      case PublishedPanel::Kind::kCloud:
        plots.emplace_back(cloud_of(panel, heading));
        break;
    }
  }
  return picture_of(plots, 1);
}

}  // namespace natten_sim::report
