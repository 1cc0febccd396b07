#include <algorithm>
#include <cmath>

#include <natten_sim/report/draw/text.hpp>

#include "vega/charts.hpp"

namespace natten_sim::report::vega {
namespace {

using draw::Paint;
using draw::Scale;

constexpr double kBarRow = 26;

/// A share of the way from one end of a bucket to the other, as the axis shows it.
double between(const draw::Bucket& bucket, Scale scale, double share) {
  if (scale == Scale::kLinear) return bucket.from + share * (bucket.to - bucket.from);
  const double from = draw::can_show(scale, bucket.from) ? bucket.from : bucket.to / 2;
  return from * std::pow(bucket.to / from, share);
}

/// The ends of whole buckets across, and counts up.
struct Ranges {
  draw::Range x, y;
  double least = 0;  ///< positive count
};

Ranges ranges_of(const draw::Histogram& histogram) {
  Ranges ranges;
  for (const draw::BucketSeries& series : histogram.series) {
    for (const draw::Bucket& bucket : series.buckets) {
      ranges.x.include(between(bucket, histogram.x.scale, 0));
      ranges.x.include(bucket.to);
      if (bucket.count <= 0) continue;
      ranges.y.include(bucket.count);
      ranges.least = ranges.least == 0 ? bucket.count : std::min(ranges.least, bucket.count);
    }
  }
  return ranges;
}

Json rectangles(const draw::BucketSeries& series, const draw::Histogram& histogram, std::size_t at) {
  const auto count = static_cast<double>(histogram.series.size());
  Json values = Json::array();
  for (const draw::Bucket& bucket : series.buckets) {
    if (bucket.count <= 0) continue;
    values.push_back({{"from", between(bucket, histogram.x.scale, static_cast<double>(at) / count)},
                      {"to", between(bucket, histogram.x.scale, (static_cast<double>(at) + 1) / count)},
                      {"count", bucket.count}});
  }
  return values;
}

}  // namespace

Json chart_of(const draw::Histogram& histogram) {
  const double width = histogram.width - kAxisRoom;
  const Ranges ranges = ranges_of(histogram);
  draw::AxisSpec up = histogram.y;
  if (up.scale == Scale::kLinear) {
    up.from = 0;
  } else if (ranges.least > 0 && !up.from) {
    up.from = ranges.least / 2;
  }
  const draw::Axis x(histogram.x, ranges.x, 0, width, draw::Side::kBottom),
      y(up, ranges.y, histogram.plot_height, 0, draw::Side::kLeft);
  std::vector<draw::LegendEntry> entries;
  Json bars = Json::array(), layers = Json::array();
  for (std::size_t s = 0; s < histogram.series.size(); ++s) {
    const draw::BucketSeries& series = histogram.series[s];
    entries.push_back({series.label, draw::LegendKey::kSwatch, Paint::category(s)});
    bars.push_back({{"data", data_of(rectangles(series, histogram, s))},
                    {"mark",
                     {{"type", "rect"},
                      {"fill", color_of(Paint::category(s))},
                      {"stroke", color_of(draw::Role::kBackground)}}}});
  }
  layers.push_back({{"encoding",
                     {{"x", quantity("from", histogram.x, x)},
                      {"x2", {{"field", "to"}}},
                      {"y", quantity("count", up, y)},
                      {"y2", {{"datum", y.low()}}},
                      {"tooltip", tooltip({{"from", "from"}, {"to", "to"}, {"count", up.label}})}}},
                    {"layer", std::move(bars)}});
  add_marks(layers, histogram.marks, x, y);
  add_legend(layers, entries, width);
  Json chart = chart_of(histogram.heading, histogram.width);
  chart["width"] = width;
  chart["height"] = histogram.plot_height;
  chart["layer"] = std::move(layers);
  return chart;
}

Json chart_of(const draw::BarChart& chart) {
  draw::AxisSpec spec = chart.value;
  draw::Range range;
  double labels = 0, notes = 0;
  Json values = Json::array();
  const std::vector<draw::PlacedBar> placed = draw::placed_bars(chart);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const draw::Bar& bar = chart.bars[i];
    labels = std::max(labels, draw::text_width(bar.label, kLabelSize));
    notes = std::max(notes, draw::text_width(placed[i].note, kLabelSize));
    const bool shown = draw::can_show(spec.scale, placed[i].to);
    if (shown) range.include(placed[i].to);
    values.push_back({{"item", bar.label},
                      {"length", shown ? Json(placed[i].to) : Json()},
                      {"note", placed[i].note},
                      {"category", bar.category % draw::kCategories}});
    if (chart.stacked) values.back()["from"] = placed[i].from;
  }
  if (spec.scale == Scale::kLinear) spec.from_zero = true;
  if (spec.scale == Scale::kLog && !range.empty() && !spec.from) spec.from = range.low / 2;
  const double width = std::max(200.0, chart.width - std::min(labels, 0.35 * chart.width) -
                                           std::min(notes, 0.3 * chart.width) - 50);
  const draw::Axis axis(spec, range, 0, width, draw::Side::kBottom);
  const double base = spec.scale == Scale::kLinear ? 0 : axis.low();
  Json colors = Json::array(), places = Json::array();
  for (std::size_t i = 0; i < draw::kCategories; ++i) {
    places.push_back(i);
    colors.push_back(color_of(Paint::category(i)));
  }
  Json bar = {{"mark", {{"type", "bar"}, {"height", kBarRow - 8}}},
              {"encoding",
               {{"x2", chart.stacked ? Json{{"field", "from"}} : Json{{"datum", base}}},
                {"color",
                 {{"field", "category"},
                  {"type", "ordinal"},
                  {"legend", nullptr},
                  {"scale", {{"domain", places}, {"range", colors}}}}}}}};
  Json note = {{"mark",
                {{"type", "text"}, {"align", "left"}, {"dx", 6}, {"color", color_of(draw::Role::kMutedText)}}},
               {"encoding", {{"text", {{"field", "note"}}}}}};
  Json layers = Json::array(
      {{{"encoding",
         {{"x", quantity("length", spec, axis)},
          {"y",
           {{"field", "item"},
            {"type", "nominal"},
            {"sort", nullptr},
            {"title", nullptr},
            {"axis",
             {{"labelLimit", 0.35 * chart.width},
              {"minExtent", std::min(labels + 8, 0.35 * chart.width)},
              {"labelFontSize", kLabelSize},
              {"labelColor", color_of(draw::Role::kText)},
              {"ticks", false},
              {"grid", false}}}}}}},
        {"layer", Json::array({std::move(bar), std::move(note)})}}});
  std::vector<draw::LegendEntry> entries;
  for (std::size_t i = 0; i < chart.categories.size(); ++i)
    entries.push_back({chart.categories[i], draw::LegendKey::kSwatch, Paint::category(i)});
  add_legend(layers, entries, width);
  Json result = chart_of(chart.heading, chart.width);
  result["data"] = data_of(std::move(values));
  result["width"] = width;
  result["height"] = {{"step", kBarRow}};
  result["layer"] = std::move(layers);
  return result;
}

}  // namespace natten_sim::report::vega
