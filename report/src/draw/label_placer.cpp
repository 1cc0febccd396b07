#include "draw/label_placer.hpp"

#include <algorithm>
#include <array>

namespace natten_sim::draw {
namespace {

constexpr double kSize = 11, kLine = 14, kBaseline = 4;  // a base line so far below the middle of the letters

}  // namespace

bool LabelPlacer::try_at(Document& document, double x, double y, Anchor anchor, std::string_view text,
                         bool over_data) {
  const TextStyle style{.size = kSize, .anchor = anchor, .halo = true};
  const Box box = text_box(x, y, text, style);
  const bool inside = box.x >= area_.x && box.right() <= area_.right() && box.y >= area_.y - 1 &&
                      box.bottom() <= area_.bottom() + 1;
  const auto free_of = [&](const std::vector<Box>& boxes) {
    return std::none_of(boxes.begin(), boxes.end(), [&](const Box& other) { return box.overlaps(other); });
  };
  if (!inside || !free_of(taken_) || !(over_data || free_of(data_))) return false;
  document.text(x, y, text, style);
  taken_.push_back(box);
  return true;
}

bool LabelPlacer::beside(Document& document, double x, double y, double distance, std::string_view text) {
  if (text.empty()) return true;
  struct Try {
    double x, y;
    Anchor anchor;
  };
  const double d = distance, diagonal = 0.7 * distance + kBaseline;
  const std::array<Try, 8> tries = {{{x + d, y + kBaseline, Anchor::kStart},
                                     {x - d, y + kBaseline, Anchor::kEnd},
                                     {x, y - d - 1, Anchor::kMiddle},
                                     {x, y + d + 9, Anchor::kMiddle},
                                     {x + diagonal, y - diagonal, Anchor::kStart},
                                     {x + diagonal, y + diagonal + 8, Anchor::kStart},
                                     {x - diagonal, y - diagonal, Anchor::kEnd},
                                     {x - diagonal, y + diagonal + 8, Anchor::kEnd}}};
  return std::any_of(tries.begin(), tries.end(),
                     [&](const Try& t) { return try_at(document, t.x, t.y, t.anchor, text, false); });
}

bool LabelPlacer::down_from(Document& document, double x, double y, double distance, std::string_view text) {
  if (text.empty()) return true;
  for (const bool over_data : {false, true}) {
    for (double line = y; line <= area_.bottom(); line += kLine) {
      if (try_at(document, x + distance, line, Anchor::kStart, text, over_data) ||
          try_at(document, x - distance, line, Anchor::kEnd, text, over_data))
        return true;
    }
  }
  return false;
}

}  // namespace natten_sim::draw
