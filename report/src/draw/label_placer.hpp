#pragma once

#include <string_view>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>

namespace natten_sim::draw {

/// Puts labels beside points so that none overprints another, nor a blocked box, nor leaves the area.
class LabelPlacer {
 public:
  explicit LabelPlacer(const Box& area) : area_(area) {}

  void block(const Box& box) { taken_.push_back(box); }
  /// A box of data or of a line, which `down_from` avoids while it can.
  void avoid(const Box& box) { data_.push_back(box); }

  /// Draws `text` right, left, above or below (x, y), `distance` pixels away; false, and nothing drawn, when
  /// there is no room. O(labels so far).
  bool beside(Document& document, double x, double y, double distance, std::string_view text);

  /// Draws `text` on the first free line below (x, y), to its right or else its left, over data
  /// when there is no other place; false as above.
  bool down_from(Document& document, double x, double y, double distance, std::string_view text);

 private:
  bool try_at(Document& document, double x, double y, Anchor anchor, std::string_view text, bool over_data);

  Box area_;
  std::vector<Box> taken_, data_;
};

}  // namespace natten_sim::draw
