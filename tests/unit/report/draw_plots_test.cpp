// Plots with axes: curves, histograms, scatter plots, rooflines, bars.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>

#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/roofline.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

#include "catch.hpp"
#include "unit/report/draw_document.hpp"

namespace draw_plots_test {

using namespace natten_sim::draw;
using namespace natten_sim::test;

const std::vector<std::string> kNone;

bool writes(const Picture& picture, const std::string& text) {
  const std::vector<Label> labels = labels_of(picture.svg);
  return std::any_of(labels.begin(), labels.end(), [&](const Label& label) { return label.text == text; });
}

/// Path data of all elements of one class.
std::vector<std::string> paths(const Picture& picture, const std::string& name) {
  std::vector<std::string> found;
  for (const Element& each : read_xml(picture.svg))
    if (each.name == "path" && each.attributes.at("class") == name) found.push_back(each.attributes.at("d"));
  return found;
}

CurvePlot falling_curve() {
  CurvePlot plot{.heading = {"Misses", "64k tokens"},
                 .x = {.label = "capacity", .scale = Scale::kLog, .unit = Unit::kBytes},
                 .y = {.label = "misses", .scale = Scale::kLog}};
  plot.series = {{.label = "cyclic", .points = {{1048576, 1e9}, {4194304, 1e8}, {16777216, 1e6}}}};
  return plot;
}

TEST_CASE("a curve is one path with a point for each that its axes show") {
  CurvePlot plot = falling_curve();
  // The legend's sample comes first.
  REQUIRE(paths(render(plot), "ns-s-c0").size() == 2);
  const auto commands = [](const std::string& path) {
    std::string letters;
    for (const char c : path)
      letters += std::isalpha(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : "";
    return letters;
  };
  CHECK(commands(paths(render(plot), "ns-s-c0")[1]) == "MLL");
  plot.series.front().style = SeriesStyle::kSteps;
  CHECK(commands(paths(render(plot), "ns-s-c0")[1]) == "MHVHV");
  plot.series.front().style = SeriesStyle::kLine;
  plot.series.front().points.insert(plot.series.front().points.begin() + 2,
                                    {8e6, 0});  // no place on a log axis
  CHECK(commands(paths(render(plot), "ns-s-c0")[1]) == "MLM");
}

TEST_CASE("series that share a category share its colour") {
  CurvePlot plot = falling_curve();
  plot.series.push_back(
      {.label = "measured", .points = {{2e6, 1e8}}, .style = SeriesStyle::kPoints, .category = 0});
  CHECK(count_of(read_xml(render(plot).svg), "circle", "ns-f-c0") == 1 + 1);  // and the legend
}

TEST_CASE("labels of marks and bands close to each other do not overprint, nor leave the picture") {
  CurvePlot plot = falling_curve();
  for (int i = 0; i < 6; ++i)
    plot.marks.push_back({2e6 * std::pow(1.15, i), "a device: " + std::to_string(30 + i) + " MiB"});
  plot.bands.push_back({8e6, 12e6, "fitted"});
  plot.marks.push_back({1e7, "limit", Direction::kUp});
  const Picture picture = render(plot);
  CHECK(overprints(picture) == kNone);
  for (int i = 0; i < 6; ++i) CHECK(writes(picture, "a device: " + std::to_string(30 + i) + " MiB"));
  CHECK(writes(picture, "limit"));
  CHECK(writes(picture, "fitted"));
}

TEST_CASE("a mark between another one and the border has its label all the same") {
  CurvePlot plot = falling_curve();
  plot.marks = {{12e6, "the first of two"}, {14e6, "the second of two"}};
  CHECK(writes(render(plot), "the first of two"));
  CHECK(writes(render(plot), "the second of two"));
  CHECK(overprints(render(plot)) == kNone);
}

TEST_CASE("marks and bands outside the axes are not drawn") {
  CurvePlot plot = falling_curve();
  plot.marks = {{1e30, "far"}, {-1, "negative"}};
  plot.bands = {{1e20, 1e21, "gone"}};
  const Picture picture = render(plot);
  CHECK_FALSE(writes(picture, "far"));
  CHECK_FALSE(writes(picture, "negative"));
  CHECK_FALSE(writes(picture, "gone"));
  CHECK(paths(picture, "ns-s-mark").empty());
}

TEST_CASE("a plot with nothing to show says so") {
  CurvePlot plot = falling_curve();
  plot.series.front().points = {{1, 0}, {NAN, 1}, {1, INFINITY}};
  CHECK(writes(render(plot), "nothing to show"));
  CHECK(writes(render(Histogram{}), "nothing to show"));
  CHECK(writes(render(ScatterPlot{}), "nothing to show"));
  CHECK(writes(render(BarChart{}), "nothing to show"));
  CHECK_FALSE(writes(render(falling_curve()), "nothing to show"));
}

TEST_CASE("plots of many series, long labels and every width do not overprint") {
  for (const double width : {240.0, 480.0, 1200.0}) {
    CurvePlot plot = falling_curve();
    plot.width = width;
    for (int i = 0; i < 12; ++i) {
      plot.series.push_back({.label = "series with a rather long label that is number " + std::to_string(i),
                             .points = {{1e6, 1e9 / (i + 1)}, {1e9, 1e3}},
                             .style = SeriesStyle::kLineAndPoints});
    }
    INFO(width);
    CHECK(overprints(render(plot)) == kNone);
  }
}

TEST_CASE("curves that are too large or too small are refused") {
  CurvePlot plot = falling_curve();
  plot.width = 239;
  CHECK_THROWS_AS(render(plot), std::invalid_argument);
  plot = falling_curve();
  plot.series.front().points.resize(kMaxCurvePoints + 1);
  CHECK_THROWS_AS(render(plot), LimitExceeded);
}

/// Height in pixels of the bars of a series.
std::vector<double> heights(const Picture& picture, const std::string& name) {
  std::vector<double> found;
  for (const Element& each : read_xml(picture.svg))
    if (each.name == "rect" && each.attributes.at("class") == name) found.push_back(each.number("height"));
  return found;
}

TEST_CASE("bars of a histogram are as high as their counts") {
  Histogram histogram{.heading = {"Distances"}, .x = {.scale = Scale::kLog, .unit = Unit::kBytes}};
  histogram.series = {{"", {{1024, 2048, 100}, {2048, 4096, 50}, {4096, 8192, 0}}}};
  const std::vector<double> found = heights(render(histogram), "ns-f-c0");
  REQUIRE(found.size() == 2);
  CHECK(std::abs(found[0] - 2 * found[1]) < 0.02);
  CHECK(std::abs(found[0] - 300) < 0.02);  // 100 is round: the top of the axis
}

TEST_CASE("the bars of two series stand side by side in their bucket") {
  Histogram histogram{.heading = {"Distances"}};
  histogram.series = {{"cyclic", {{0, 10, 5}}}, {"sawtooth", {{0, 10, 3}}}};
  std::vector<Box> bars;
  for (const Element& each : read_xml(render(histogram).svg)) {
    if (each.name == "rect" && each.number("width") > 100 && each.attributes.at("class") != "ns-f-ground")
      bars.push_back({each.number("x"), each.number("y"), each.number("width"), each.number("height")});
  }
  REQUIRE(bars.size() == 2);
  CHECK_FALSE(bars[0].overlaps(bars[1]));
  CHECK(std::abs(bars[0].right() - bars[1].x) < 0.02);
}

TEST_CASE("a single bucket takes a part of the width, on both scales") {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    Histogram histogram{.heading = {"Distances"},
                        .x = {.label = "bytes", .scale = scale, .unit = Unit::kBytes}};
    histogram.series = {{"", {{1048576, 2097152, 7}}}};
    const Picture picture = render(histogram);
    double width = 0;
    for (const Element& each : read_xml(picture.svg))
      if (each.name == "rect" && each.attributes.at("class") == "ns-f-c0") width = each.number("width");
    CHECK(width > 0.1 * picture.width);
    CHECK(width < 0.5 * picture.width);
    CHECK(overprints(picture) == kNone);
  }
}

TEST_CASE("the smallest bar of a logarithmic histogram can be seen") {
  Histogram histogram{.heading = {"Collisions"}, .x = {.scale = Scale::kLog}, .y = {.scale = Scale::kLog}};
  histogram.series = {{"", {{1, 2, 1e6}, {2, 4, 1}}}};
  const std::vector<double> found = heights(render(histogram), "ns-f-c0");
  REQUIRE(found.size() == 2);
  CHECK(found[1] > 5);
}

TEST_CASE("the label of a mark keeps off the bars of a histogram while it can") {
  Histogram histogram{.heading = {"Distances"}, .x = {.scale = Scale::kLog, .unit = Unit::kBytes}};
  histogram.series = {{"", {{1 << 20, 1 << 21, 1}, {1 << 21, 1 << 22, 100}, {1 << 22, 1 << 23, 100}}}};
  histogram.marks = {{2.05e6, "capacity"}};  // at the left border of the second bar; the first is low
  Box label;
  const Picture picture = render(histogram);
  for (const Label& each : labels_of(picture.svg))
    if (each.text == "capacity") label = each.box;
  REQUIRE(label.width > 0);
  for (const Element& each : read_xml(picture.svg)) {
    if (each.name != "rect" || each.attributes.at("class") != "ns-f-c0") continue;
    CHECK_FALSE(
        label.overlaps({each.number("x"), each.number("y"), each.number("width"), each.number("height")}));
  }
  histogram.marks = {{6e6, "capacity"}};  // in the middle of a bar as high as the plot
  CHECK(writes(render(histogram), "capacity"));
}

TEST_CASE("buckets that are wrong or too many are refused") {
  for (const Bucket& wrong :
       {Bucket{2, 1, 1}, Bucket{1, 1, 1}, Bucket{0, 1, -1}, Bucket{0, NAN, 1}, Bucket{0, 1, INFINITY}}) {
    Histogram histogram;
    histogram.series = {{"", {wrong}}};
    CHECK_THROWS_AS(render(histogram), std::invalid_argument);
  }
  Histogram many;
  many.series = {{"", std::vector<Bucket>(kMaxBuckets + 1, Bucket{0, 1, 1})}};
  CHECK_THROWS_AS(render(many), LimitExceeded);
}

ScatterPlot comparison() {
  ScatterPlot plot{
      .heading = {"DRAM reads"}, .quantity = "bytes", .scale = Scale::kLog, .unit = Unit::kBytes};
  plot.tolerances = {{.relative = 0.05}, {.relative = 0.2}};
  plot.series = {{"model", {{1e6, 1.01e6}, {1e7, 1.19e7}, {1e8, 1.21e8}, {0, 5}}}};
  return plot;
}

TEST_CASE("points outside the widest tolerance have a rim, points off the axes are counted") {
  const Picture picture = render(comparison());
  const auto elements = read_xml(picture.svg);
  CHECK(std::count_if(elements.begin(), elements.end(), [](const Element& each) {
          return each.name == "circle" && each.attributes.at("class") == "ns-f-c0 ns-s-outline";
        }) == 1);
  CHECK(writes(picture, "1 point off the axes"));
  CHECK(writes(picture, "within 5% / 20%"));
  CHECK(overprints(picture) == kNone);
}

TEST_CASE("both axes of a scatter plot have the same ends: the diagonal joins the corners") {
  ScatterPlot plot{.heading = {"Hit rate"}, .unit = Unit::kPercent, .tolerances = {{.absolute = 0.02}}};
  plot.series = {{"model", {{0.5, 0.51}, {0.9, 0.2}}}};
  std::vector<Label> ticks;
  for (const Label& label : labels_of(render(plot).svg))
    if (label.text.ends_with("%") && !label.text.starts_with("within")) ticks.push_back(label);
  double bottom = 0;  // where the labels of the x axis are
  for (const Label& label : ticks) bottom = std::max(bottom, label.box.y);
  std::vector<std::string> across, up;
  for (const Label& label : ticks) (label.box.y == bottom ? across : up).push_back(label.text);
  REQUIRE(across.size() >= 2);
  REQUIRE(up.size() >= 2);
  CHECK(across.front() == up.front());
  CHECK(across.back() == up.back());
}

TEST_CASE("a negative tolerance is refused") {
  ScatterPlot plot = comparison();
  plot.tolerances = {{.relative = -0.1}};
  CHECK_THROWS_AS(render(plot), std::invalid_argument);
}

Roofline small_roofline() {
  return {.heading = {"Roofline"},
          .bandwidths = {{"DRAM", 50}},
          .peaks = {{"fp32", 800}},
          .points = {{"kernel", 2, 80}}};
}

TEST_CASE("a point on the roof is drawn on the roof") {
  // 4 FLOP/byte times 50 GB/s is 200 GFLOP/s, a point of the slope; 100 FLOP/byte are bound by the peak of
  // 800.
  Roofline roofline = small_roofline();
  roofline.points = {{"slope", 4, 200}, {"flat", 100, 800}, {"above all", 1, 1}};
  const Picture picture = render(roofline);
  std::vector<std::vector<double>> ends;
  for (const std::string& path : paths(picture, "ns-s-mark")) {
    std::vector<double> numbers(4);
    REQUIRE(std::sscanf(path.c_str(), "M%lf %lfL%lf %lf", &numbers[0], &numbers[1], &numbers[2],
                        &numbers[3]) == 4);
    ends.push_back(numbers);
  }
  REQUIRE(ends.size() == 2);
  double x = 0, y = 0;
  for (const Element& each : read_xml(picture.svg)) {
    if (each.name != "circle") continue;
    x = each.number("cx");
    y = each.number("cy");
  }
  const auto& slope = ends[0];
  const double on_slope = slope[1] + (x - slope[0]) / (slope[2] - slope[0]) * (slope[3] - slope[1]);
  CHECK(std::abs(y - on_slope) < 0.05);
  CHECK(ends[1][1] == ends[1][3]);
  CHECK(std::abs(ends[1][1] - slope[3]) < 0.05);  // the slope ends at the peak
}

TEST_CASE("rooflines name their roofs and points with units, and do not overprint") {
  Roofline roofline = small_roofline();
  CHECK(writes(render(roofline), "DRAM: 50 GB/s"));
  CHECK(writes(render(roofline), "fp32: 800 GFLOP/s"));
  CHECK(writes(render(roofline), "kernel"));
  roofline.bandwidths.push_back({"L2", 200});
  roofline.peaks.push_back({"tensor", 8e3});
  for (int i = 0; i < 30; ++i) roofline.points.push_back({"kernel " + std::to_string(i), 2 + 0.1 * i, 80});
  CHECK(overprints(render(roofline)) == kNone);
  CHECK(writes(render(roofline), "TFLOP/s"));
}

TEST_CASE("a roofline without roofs or with one that is not positive is refused") {
  Roofline roofline = small_roofline();
  roofline.bandwidths.clear();
  CHECK_THROWS_AS(render(roofline), std::invalid_argument);
  roofline = small_roofline();
  roofline.peaks = {{"none", 0}};
  CHECK_THROWS_AS(render(roofline), std::invalid_argument);
  roofline = small_roofline();
  roofline.points.resize(kMaxRooflinePoints + 1);
  CHECK_THROWS_AS(render(roofline), LimitExceeded);
}

TEST_CASE("bars are as long as their values, negative ones to the left") {
  BarChart chart{.heading = {"Saving"}, .value = {.label = "change"}};
  chart.bars = {{"a", 20}, {"b", 10}, {"c", -10, "", 1}};
  std::vector<Box> bars;
  for (const Element& each : read_xml(render(chart).svg)) {
    if (each.name == "rect" && each.attributes.at("class").starts_with("ns-f-c"))
      bars.push_back({each.number("x"), each.number("y"), each.number("width"), each.number("height")});
  }
  REQUIRE(bars.size() == 3);
  CHECK(std::abs(bars[0].width - 2 * bars[1].width) < 0.03);
  CHECK(bars[0].x == bars[1].x);
  CHECK(std::abs(bars[2].right() - bars[0].x) < 0.03);
  CHECK(std::abs(bars[2].width - bars[1].width) < 0.03);
}

TEST_CASE("bars from one to many, with long labels and notes, do not overprint") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{40}}) {
    for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
      BarChart chart{.heading = {"Remedies", "1M updates"}, .value = {.label = "time (us)", .scale = scale}};
      for (std::size_t i = 0; i < count; ++i)
        chart.bars.push_back(
            {"a remedy whose name is much too long for its place in the picture " + std::to_string(i),
             std::pow(2.0, static_cast<double>(i)) - 1, "predicted, give or take"});
      INFO(count);
      CHECK(overprints(render(chart)) == kNone);
    }
  }
}

TEST_CASE("a value that a logarithmic axis cannot show has a note but no bar") {
  BarChart chart{.heading = {"Remedies"}, .value = {.scale = Scale::kLog}};
  chart.bars = {{"a", 100}, {"none", 0, "0 us"}};
  const Picture picture = render(chart);
  CHECK(count_of(read_xml(picture.svg), "rect", "ns-f-c0") == 1);
  CHECK(writes(picture, "0 us"));
}

TEST_CASE("bars that are too many or not finite are refused") {
  BarChart chart;
  chart.bars = {{"a", NAN}};
  CHECK_THROWS_AS(render(chart), std::invalid_argument);
  chart.bars.assign(kMaxBars + 1, {"a", 1});
  CHECK_THROWS_AS(render(chart), LimitExceeded);
}

TEST_CASE("hostile text leaves every plot well formed, and the same input gives the same bytes") {
  const std::string hostile = std::string("<svg onload='x'>&\"\0\xff", 21);
  CurvePlot curve = falling_curve();
  curve.heading = {hostile, hostile};
  curve.x.label = curve.y.label = curve.series.front().label = hostile;
  curve.marks = {{2e6, hostile}};
  BarChart bars{.heading = {hostile}, .bars = {{hostile, 1, hostile}}, .categories = {hostile}};
  Roofline roofline = small_roofline();
  roofline.points.front() = {hostile, 2, 80, hostile};
  roofline.bandwidths.front().label = hostile;
  ScatterPlot scatter = comparison();
  scatter.series.front().points.front().detail = hostile;
  for (const auto& draw : {std::function<Picture()>([&] { return render(curve); }),
                           {[&] { return render(bars); }},
                           {[&] { return render(roofline); }},
                           {[&] { return render(scatter); }}}) {
    CHECK_NOTHROW(read_xml(draw().svg));
    CHECK(draw().svg == draw().svg);
    CHECK(draw().svg.find("<svg onload") == std::string::npos);
  }
}

}  // namespace draw_plots_test
