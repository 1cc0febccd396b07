#include <algorithm>
#include <type_traits>
#include <vector>

#include <natten_sim/report/draw/chart.hpp>
#include <natten_sim/report/draw/panels.hpp>

namespace natten_sim::draw {
namespace {

/// A narrow plot is lower too.
template <typename Plot>
void resize(Plot& plot, double width) {
  if constexpr (requires { plot.plot_height; })
    plot.plot_height = std::clamp(plot.plot_height * width / plot.width, 180.0, std::max(180.0, plot.plot_height));
  if constexpr (requires { plot.width; }) {
    plot.width = width;
  } else {
    plot.size = width;
  }
}

template <typename Plot>
Picture resizable(const Plot& plot) {
  Picture picture = render(plot);
  if constexpr (!std::is_same_v<Plot, HeatMap>) {
    picture.at_width = [plot](double width) {
      Plot other = plot;
      resize(other, width);
      return resizable(other);
    };
  }
  return picture;
}

}  // namespace

Picture picture_of(const Chart& chart) {
  return std::visit([](const auto& each) { return resizable(each); }, chart);
}

Picture picture_of(std::span<const Chart> charts, int columns, const Heading& heading) {
  if (charts.size() == 1 && heading.title.empty()) return picture_of(charts.front());
  std::vector<Picture> pictures;
  for (const Chart& chart : charts)
    pictures.push_back(std::visit([](const auto& each) { return render(each); }, chart));
  return beside(pictures, columns, heading);
}

}  // namespace natten_sim::draw
