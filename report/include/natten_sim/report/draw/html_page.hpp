#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>

namespace natten_sim::draw {

/// A self-contained HTML page with the colours of the pictures, light and dark; loads nothing.
///
///     HtmlPage page("Predictions against measurements");
///     page.heading("Errors").paragraph("Absolute relative deviations.").table(table).picture(render(plot));
///     std::string html = std::move(page).finish();
///
/// All text is escaped here, so callers pass it as it is. Same calls, same bytes.

enum class RowTone { kPlain, kStrong, kWarning, kFailure };

struct TableRow {
  std::vector<std::string> cells;
  RowTone tone = RowTone::kPlain;
};

struct HtmlTable {
  std::vector<std::string> header;
  std::vector<TableRow> rows;
  std::vector<bool> numeric{};  ///< columns aligned to the right; missing ones are text
};

class HtmlPage {
 public:
  /// The title is the first heading as well.
  explicit HtmlPage(std::string_view title);

  /// Level 2 to 4. @throws std::invalid_argument for another one.
  HtmlPage& heading(std::string_view text, int level = 2);
  HtmlPage& paragraph(std::string_view text);
  /// Text as it is, in columns of one width.
  HtmlPage& preformatted(std::string_view text);
  HtmlPage& list(const std::vector<std::string>& items);
  /// Wide tables scroll in themselves. Rows may be shorter than the header.
  HtmlPage& table(const HtmlTable& table);
  HtmlPage& picture(const Picture& picture, std::string_view caption = {});

  [[nodiscard]] std::string finish() &&;

 private:
  std::string title_, body_;
};

}  // namespace natten_sim::draw
