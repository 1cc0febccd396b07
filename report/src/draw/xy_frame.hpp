#pragma once

#include <vector>

#include <natten_sim/report/draw/annotation.hpp>
#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

#include "draw/label_placer.hpp"

namespace natten_sim::draw {

struct FrameSpec {
  Heading heading;
  std::vector<LegendEntry> legend;
  AxisSpec x, y;
  Range xs, ys;  ///< of the data
  std::vector<Mark> marks;
  std::vector<Band> bands;
  double width = 720;
  double plot_height = 300;  ///< 0: as high as the area between the axes is wide
};

/// Heading, legend, axes, grid, bands and marks of a plot. The data are drawn between construction, which
/// draws what lies behind them, and `finish`, which draws what lies over them.
class XyFrame {
 public:
  /// @throws std::invalid_argument for sizes below 240 and 60.
  explicit XyFrame(const FrameSpec& spec);

  [[nodiscard]] Document& document() { return document_; }
  [[nodiscard]] const Axis& x() const { return x_.front(); }
  [[nodiscard]] const Axis& y() const { return y_.front(); }
  [[nodiscard]] const Box& plot() const { return plot_; }  ///< the area between the axes
  [[nodiscard]] LabelPlacer& labels() { return labels_; }
  void note_empty();  ///< says that there is nothing to show

  [[nodiscard]] Picture finish() &&;

 private:
  void layout(const FrameSpec& spec);
  void draw_bands();
  void draw_grid();
  void draw_marks();

  Document document_;
  std::vector<Mark> marks_;
  std::vector<Band> bands_;
  std::string x_label_, y_label_;
  Box plot_;
  std::vector<Axis> x_, y_;  // one each, made once the layout is known
  LabelPlacer labels_;
  double width_;
};

}  // namespace natten_sim::draw
