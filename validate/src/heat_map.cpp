#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/regime_map.hpp>

#include "html.hpp"

namespace natten_sim::validate {
namespace {

constexpr int kCellWidth = 46, kCellHeight = 19, kLeft = 96, kTop = 62, kGap = 18, kHead = 34;

std::string format(const char* pattern, double a, double b) {
  std::array<char, 128> text{};
  (void)std::snprintf(text.data(), text.size(), pattern, a, b);
  return text.data();
}

/// White at parity, blue where we are faster, orange where slower; full colour at a factor of four.
std::string colour_of(double ratio) {
  const double depth = std::min(std::abs(std::log2(ratio)) / 2, 1.0);
  const std::array<int, 3> full = ratio >= 1 ? std::array{0, 114, 178} : std::array{213, 94, 0};
  std::array<char, 16> text{};
  const auto mix = [&](int channel) {
    return static_cast<unsigned>(std::lround(255 - depth * (255 - channel)));
  };
  (void)std::snprintf(text.data(), text.size(), "#%02x%02x%02x", mix(full[0]), mix(full[1]), mix(full[2]));
  return text.data();
}

/// A status in one word.
std::string short_status(const std::string& status) {
  if (status == "out of memory") return "memory";
  if (status.starts_with("refused")) return "refused";
  if (status.starts_with("no kernel")) return "no kernel";
  if (status == "not recorded") return "-";
  return "failed";
}

struct Place {
  double x, y;
};

std::string cell_svg(const RegimeCell& cell, std::size_t backend, Place place) {
  const std::optional<double> ratio = cell.ratio(backend);
  const Throughput own = cell.own_throughput();
  const std::string text = ratio        ? format("%.0f", 100 * *ratio, 0)
                           : own.tflops ? short_status(cell.backends[backend].status)
                                        : short_status(own.status);
  const std::string fill = ratio ? colour_of(*ratio) : "#dddddd";
  const bool dark = ratio && std::abs(std::log2(*ratio)) > 1.4;
  return format("<rect x='%.0f' y='%.0f' ", place.x, place.y) + "width='" + std::to_string(kCellWidth - 1) +
         "' height='" + std::to_string(kCellHeight - 1) + "' fill='" + fill + "'/>" +
         format("<text x='%.1f' y='%.1f' ", place.x + (kCellWidth - 1) / 2.0, place.y + 13) +
         (ratio ? "" : "class='s' ") + "fill='" + (dark ? "white" : "#222") + "'>" + escaped_html(text) +
         "</text>";
}

/// Cells of one dtype and mask.
struct Group {
  std::string title;
  std::vector<std::int64_t> tokens;  ///< ascending
  std::vector<const RegimeCell*> cells;

  [[nodiscard]] int height() const { return static_cast<int>(tokens.size()) * kCellHeight + kHead + 12; }
};

/// @throws InvalidParameter when two cells would share a place.
std::vector<Group> groups_of(const RegimeMap& map) {
  std::vector<Group> groups;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> places;
  for (const RegimeCell& cell : map.cells) {
    const kernels::AttentionProblem& p = cell.problem;
    const std::string title =
        std::string(kernels::to_string(p.dtype)) + ", " + (p.causal ? "causal" : "full");
    if (!places.emplace(title, p.head_dim, p.tokens).second) {
      throw InvalidParameter("heat map",
                             title + ", head dim " + std::to_string(p.head_dim) + ", " +
                                 std::to_string(p.tokens) + " tokens twice",
                             "one batch and number of heads for each head dim and length");
    }
    if (groups.empty() || groups.back().title != title) groups.push_back({title, {}, {}});
    Group& group = groups.back();
    group.cells.push_back(&cell);
    const auto at = std::lower_bound(group.tokens.begin(), group.tokens.end(), p.tokens);
    if (at == group.tokens.end() || *at != p.tokens) group.tokens.insert(at, p.tokens);
  }
  return groups;
}

/// The panels of one group start at `top`.
std::string row_of_panels(const Group& group, const std::vector<std::int64_t>& head_dims, int top) {
  std::string svg = format("<text class='b' x='8' y='%.0f'>", top + 11, 0) + group.title + "</text>";
  const int panel = static_cast<int>(head_dims.size()) * kCellWidth + kGap;
  for (std::size_t t = 0; t < group.tokens.size(); ++t) {
    svg += format("<text class='e' x='%.0f' y='%.0f'>", kLeft - 6,
                  top + kHead + 13 + kCellHeight * static_cast<int>(t)) +
           std::to_string(group.tokens[t]) + "</text>";
  }
  for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
    const double left = kLeft + panel * static_cast<int>(b);
    for (std::size_t d = 0; d < head_dims.size(); ++d) {
      svg += format("<text x='%.1f' y='%.0f'>", left + kCellWidth * (static_cast<double>(d) + 0.5),
                    top + kHead - 5) +
             std::to_string(head_dims[d]) + "</text>";
    }
    for (const RegimeCell* cell : group.cells) {
      const auto t = std::lower_bound(group.tokens.begin(), group.tokens.end(), cell->problem.tokens) -
                     group.tokens.begin();
      const auto d =
          std::lower_bound(head_dims.begin(), head_dims.end(), cell->problem.head_dim) - head_dims.begin();
      svg += cell_svg(
          *cell, b,
          {left + static_cast<double>(d) * kCellWidth, top + kHead + static_cast<double>(t) * kCellHeight});
    }
  }
  return svg + "\n";
}

/// Size, style and captions.
std::string opening(const RegimeMap& map, int width, int height) {
  return format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' ", width, height) +
         format("width='%.0f' height='%.0f'>", width, height) +
         "<style>text{font:11px sans-serif;text-anchor:middle}.b{font-weight:bold;text-anchor:start}"
         ".e{text-anchor:end}.s{font-size:9px}</style><rect width='100%' height='100%' fill='white'/>\n"
         "<text class='b' x='8' y='18'>This kernel with its best tiles, TFLOP/s in % of PyTorch's "
         "backends: " +
         escaped_html(map.device + ", " + map.framework) +
         "</text>\n<text x='8' y='34' style='text-anchor:start'>Tokens down, head dims across; 100 is "
         "parity, "
         "blue is faster, orange slower, grey cannot be compared</text>\n";
}

}  // namespace

std::string svg_heat_map(const RegimeMap& map) {
  if (map.cells.empty()) throw InvalidParameter("heat map", "no cell", "at least one problem");
  const std::vector<Group> groups = groups_of(map);
  std::set<std::int64_t> dims;
  for (const RegimeCell& cell : map.cells) dims.insert(cell.problem.head_dim);
  const std::vector<std::int64_t> head_dims(dims.begin(), dims.end());
  const int panel = static_cast<int>(head_dims.size()) * kCellWidth + kGap;
  int height = kTop;
  for (const Group& group : groups) height += group.height();
  std::string svg = opening(map, kLeft + panel * static_cast<int>(sdpa_backends().size()), height);
  for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
    svg += format("<text class='b' x='%.0f' y='%.0f'>", kLeft + panel * static_cast<int>(b), kTop - 6) +
           sdpa_backends()[b] + "</text>";
  }
  int top = kTop;
  for (const Group& group : groups) {
    svg += row_of_panels(group, head_dims, top);
    top += group.height();
  }
  return svg + "</svg>\n";
}

}  // namespace natten_sim::validate
