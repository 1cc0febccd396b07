#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <natten_sim/report/draw/palette.hpp>

namespace natten_sim::draw {

/// Builds one self-contained SVG document: shapes with colours of the palette, light and dark.
///
///     Document document("Tiles visited");
///     document.rect({10, 10, 40, 20}, {.fill = Paint::role(Role::kTileFull)}, "tile 3");
///     Picture picture = std::move(document).finish(60, 40);
///
/// Lengths are pixels from the top left corner, written with two decimals; lengths that are not finite
/// throw std::invalid_argument. All text is escaped here, so callers pass it as it is. Colours are classes
/// of a style sheet in the document, which follows `prefers-color-scheme`. Same calls, same bytes.

/// A finished picture. `svg` ends with a line feed and can be written to a file or into an HTML page.
struct Picture {
  std::string svg;
  double width = 0, height = 0;  ///< pixels
  std::string title{};           ///< what a reader of screens says
  /// The same in another width, in pixels, with text of the same size; null: it can only be scaled.
  std::function<Picture(double width)> at_width{};
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  /// Boxes that only touch do not overlap.
  [[nodiscard]] bool overlaps(const Box& other) const;
};

enum class Dash { kSolid, kDashed, kDotted };

struct Style {
  std::optional<Paint> fill{}, stroke{};
  double stroke_width = 1;
  Dash dash = Dash::kSolid;
  double opacity = 1;
  bool crisp = false;  ///< on whole pixels: for cells that touch
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  Paint paint = Paint::role(Role::kText);
  bool halo = false;  ///< a rim of the background's colour: for labels over lines
};

/// Where a text's letters are, by the estimate of text_width; (x, y) is on the base line.
[[nodiscard]] Box text_box(double x, double y, std::string_view text, const TextStyle& style);

/// Shapes of marks, a second way besides colour to tell series apart: as many as there are colours of
/// categories.
enum class Symbol { kCircle, kSquare, kTriangle, kDiamond, kCross, kDownTriangle, kPlus, kBowTie };
inline constexpr std::size_t kSymbols = 8;

class Document {
 public:
  /// `title` names the picture for screen readers and as a tooltip; it is not drawn.
  explicit Document(std::string_view title);

  void rect(const Box& box, const Style& style, std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, const Style& style);
  /// `data`: path commands, of `move_to` and the like below. An empty path draws nothing.
  void path(const std::string& data, const Style& style, std::string_view tooltip = {});
  void symbol(Symbol symbol, double x, double y, double radius, const Style& style,
              std::string_view tooltip = {});
  void text(double x, double y, std::string_view text, const TextStyle& style);
  /// Hides what is drawn outside of `box` until end_clip.
  void begin_clip(const Box& box);
  void end_clip();
  /// A finished picture with its top left corner at (x, y).
  void picture(double x, double y, const Picture& inner);

  /// @throws std::invalid_argument unless both sizes are positive.
  [[nodiscard]] Picture finish(double width, double height) &&;

 private:
  std::string classes(const Style& style);
  std::string attributes(const Style& style) const;
  void element(const std::string& start, const Style& style, std::string_view tooltip);
  std::string use(const char* property, const Paint& paint);

  struct Rule {
    std::string property;
    Shade shade;
  };
  std::string title_, body_;
  std::map<std::string, Rule> rules_;  ///< by class name
};

/// A length as it is written: at most two decimals, no trailing zeros. @throws std::invalid_argument.
[[nodiscard]] std::string length_text(double value);

/// Commands of a path: "M1 2", "L3 4", and a closed rectangle.
[[nodiscard]] std::string move_to(double x, double y);
[[nodiscard]] std::string line_to(double x, double y);
[[nodiscard]] std::string rectangle(const Box& box);

}  // namespace natten_sim::draw
