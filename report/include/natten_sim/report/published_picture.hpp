#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::report {

/// Pictures and pages of published figures: published, ours and what this project measured, in one picture.
///
///     for (const PublishedFigure& figure : published_figures(rows)) {
///       write(figure.file + ".svg", published_picture(figure).svg);
///       write(figure.file + ".md", published_page(figure));
///     }
///
/// Rows with an axis are curves over it; others are lines of dots, or, when there are many, points of ours
/// against published. Numbers of different units are different panels.

/// The rows of one figure or table of one publication.
struct PublishedFigure {
  std::string work, figure, source;
  std::string file;  ///< a name for files: "gna-table-4.2"
  std::vector<validate::PublishedRow> rows;
};

/// In the order of the rows.
[[nodiscard]] std::vector<PublishedFigure> published_figures(const std::vector<validate::PublishedRow>& rows);

/// Rows of one unit and one axis, which share a plot.
struct PublishedPanel {
  enum class Kind { kDots, kCurves, kCloud } kind = Kind::kDots;
  std::string unit, axis;
  std::vector<validate::PublishedRow> rows;
};

/// Rows without any number are in none.
[[nodiscard]] std::vector<PublishedPanel> panels_of(const PublishedFigure& figure);

/// "GNA, table 4.2"
[[nodiscard]] std::string heading_of(const PublishedFigure& figure);

/// A chart per panel. @throws std::invalid_argument without panels.
[[nodiscard]] draw::Picture published_picture(const PublishedFigure& figure);

/// A page of Markdown: source, the picture FILE.svg if there is one, and every row.
[[nodiscard]] std::string published_page(const PublishedFigure& figure);
/// One self-contained HTML page of all figures, whose charts tell a mark's numbers under the pointer.
[[nodiscard]] std::string published_html(const std::vector<PublishedFigure>& figures);
/// The page that leads to all of them: work, figure, rows, how many judged and how many of them outside.
[[nodiscard]] std::string published_index(const std::vector<PublishedFigure>& figures);

}  // namespace natten_sim::report
