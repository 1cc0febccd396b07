#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <natten_sim/report/draw/panels.hpp>

namespace natten_sim::draw {

Picture beside(std::span<const Picture> pictures, int columns, const Heading& heading) {
  if (pictures.empty() || columns < 1) throw std::invalid_argument("panels need a picture and a column");
  const std::size_t across = std::min(static_cast<std::size_t>(columns), pictures.size());
  std::vector<double> widths(across), heights((pictures.size() + across - 1) / across);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % across] = std::max(widths[i % across], pictures[i].width);
    heights[i / across] = std::max(heights[i / across], pictures[i].height);
  }
  const double width = std::accumulate(widths.begin(), widths.end(), 0.0);
  std::string title = heading.title;  // or those of the pictures
  for (std::size_t i = 0; i < pictures.size() && heading.title.empty(); ++i) {
    if (!pictures[i].title.empty()) title += (title.empty() ? "" : "; ") + pictures[i].title;
  }
  Document document(title);
  const bool headed = !heading.title.empty() || !heading.subtitle.empty();
  double y = headed ? draw_heading(document, heading, 16, width - 32) : 0;
  for (std::size_t i = 0, row = 0; row < heights.size(); y += heights[row++]) {
    double x = 0;
    for (std::size_t column = 0; column < across && i < pictures.size(); x += widths[column++])
      document.picture(x, y, pictures[i++]);
  }
  return std::move(document).finish(width, y);
}

}  // namespace natten_sim::draw
