// Hassani's dissertation on generalized neighborhood attention, chapter 4: every figure that tile counts
// determine.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/validate/published/published_work.hpp>

namespace natten_sim::validate::works {
namespace {

/// Half a unit of the second decimal as printed, and half as much again for the rounding before it.
constexpr double kGnaTwoDecimals = 0.0075;
constexpr double kGnaOneDecimal = 0.05;

Extents extents_of(const Json& array) {
  Extents result;
  for (const Json& value : array) result.push_back(value.get<std::int64_t>());
  return result;
}

/// The tables round the operation's speedup to one decimal before Amdahl's law.
double one_decimal(double speedup) { return std::round(speedup * 10.0) / 10.0; }

TileCount count_published(const Json& entry, const Extents& input, const Extents& stride) {
  return count_tiles({.mask = make_mask(input, extents_of(entry["window"]), stride),
                      .tiles = {extents_of(entry["q_tile"]), extents_of(entry["kv_tile"])}});
}

void add_gna_table(const Json& table, const Preset& preset, std::vector<PublishedRow>& rows) {
  const std::string figure = "table " + table["table"].get<std::string>();
  const Extents window = extents_of(table["window"]);
  const AttentionShare all{*preset.attention_share, 0, *preset.steps},
      after{*preset.attention_share, *preset.dense_steps, *preset.steps};
  const TileCount first = count_published(table, preset.layout, Extents(window.rank(), 1));
  const std::string name = preset.name + " " + to_string(window);
  rows.push_back(placed(number_row(figure, name + ", sparsity in percent", table["sparsity_percent"],
                                   100.0 * first.sparsity(), 0.5),
                        {.unit = "%", .series = name}));
  for (const auto& [setting, share] : {std::pair{"all_steps", all}, std::pair{"after_dense_steps", after}}) {
    rows.push_back(placed(
        number_row(figure, fmt::format("{}, {}/{} dense, FLOP-wise", name, share.dense_steps, share.steps),
                   table["flop"][setting], end_to_end_speedup(share, one_decimal(first.speedup_flop())),
                   kGnaTwoDecimals),
        {.unit = "x", .series = name}));
  }
  std::string printed_ladder;
  for (const Json& entry : table["rows"]) {
    const Extents stride = extents_of(entry["stride"]);
    printed_ladder += (printed_ladder.empty() ? "" : " ") + to_string(stride);
    const double worst = count_published(table, preset.layout, stride).speedup_worst();
    for (const auto& [setting, share] :
         {std::pair{"all_steps", all}, std::pair{"after_dense_steps", after}}) {
      PublishedRow row = number_row(
          figure,
          fmt::format("{}, {}/{} dense, stride {}", name, share.dense_steps, share.steps, to_string(stride)),
          entry["end_to_end"][setting], end_to_end_speedup(share, one_decimal(worst)), kGnaTwoDecimals,
          fmt::format("operation {:.3f}x; unrounded {:.4f}", worst, end_to_end_speedup(share, worst)));
      if (entry.contains("known_deviation")) mark_known(row, entry["known_deviation"]);
      rows.push_back(placed(std::move(row), {.unit = "x", .series = name}));
    }
  }
  SearchSpace space = full_space(preset.layout);
  for (std::size_t axis = 0; axis < window.rank(); ++axis) space.window[axis] = {window[axis], window[axis]};
  space.tiles = {{"", {extents_of(table["q_tile"]), extents_of(table["kv_tile"])}}};
  std::string ladder;
  for (const Candidate& candidate : stride_ladder(space, {}).candidates)
    ladder += (ladder.empty() ? "" : " ") + to_string(stride_of(candidate.mask));
  rows.push_back(
      text_row(figure, name + ", stride ladder", printed_ladder, ladder, ladder == printed_ladder));
}

void add_figure_4_5(const Json& figure, std::vector<PublishedRow>& rows) {
  std::int64_t stride = 0;
  for (const Json& published : figure["visited_tiles_by_stride"]) {
    const TileCount count = count_published(figure, extents_of(figure["input"]), {++stride});
    rows.push_back(number_row("figure 4.5",
                              fmt::format("visited of {} tiles, stride {}", count.dense_tiles, stride),
                              published, static_cast<double>(count.visited_tiles), 0));
    rows.back().place = {.unit = "tiles", .axis = "stride", .at = static_cast<double>(stride)};
    // The figure draws the mask in full: the walk over its tiles must agree.
    const TileCount walked =
        walk_tiles({.mask = make_mask(extents_of(figure["input"]), extents_of(figure["window"]), {stride}),
                    .tiles = {extents_of(figure["q_tile"]), extents_of(figure["kv_tile"])}});
    if (!(walked == count)) rows.back().verdict = Verdict::kOutside;
  }
}

void add_figure_4_7(const Json& figure, const Preset& preset, std::vector<PublishedRow>& rows) {
  const auto worst = [&](const Extents& stride) {
    return count_published(figure, preset.layout, stride).speedup_worst();
  };
  rows.push_back(number_row("figure 4.7", "hunyuan-video 18x24x24, stride 1x1x1, operation",
                            figure["speedup_stride_1"], worst({1, 1, 1}), kGnaOneDecimal,
                            fmt::format("by the mean Q tile {:.2f}x",
                                        count_published(figure, preset.layout, {1, 1, 1}).speedup_mean())));
  rows.back().place.unit = "x";
  const double spatial = worst({1, 8, 8}), bound = figure["speedup_more_than_with_spatial_stride_8"];
  rows.push_back(text_row("figure 4.7", "hunyuan-video 18x24x24, stride 1x8x8, operation",
                          fmt::format("more than {:g}", bound), fmt::format("{:.4f}", spatial),
                          spatial > bound));
  rows.back().ours_value = spatial;
  rows.back().place.unit = "x";
  rows.push_back(number_row("figure 4.7", "hunyuan-video 18x24x24, stride 16x8x8, operation",
                            figure["speedup_fully_block_sparse"], worst({16, 8, 8}), kGnaOneDecimal,
                            count_published(figure, preset.layout, {16, 8, 8}).fully_block_sparse()
                                ? "fully block-sparse, as stated"
                                : "NOT fully block-sparse"));
  rows.back().place.unit = "x";
}

std::vector<PublishedRow> reproduce_gna(const study::Context& context) {
  const Json published = Json::parse(published_gna_figures());
  std::vector<PublishedRow> rows;
  add_figure_4_5(published["figure_4_5"], rows);
  add_figure_4_7(published["figure_4_7"], context.catalog.preset("hunyuan-video"), rows);
  for (const Json& table : published["tables"])
    add_gna_table(table, context.catalog.preset(table["preset"].get<std::string>()), rows);
  return rows;
}

}  // namespace

PublishedWork gna() {
  return {.name = "gna",
          .title = "Hassani's dissertation, chapter 4",
          .source = "Hassani, Neighborhood Attention: Fast and Flexible Sparse Attention, 2025",
          .position = 10,
          .reproduce = reproduce_gna,
          .figures = {"figure 4.5", "figure 4.7", "table 4.2", "table 4.3", "table 4.4"}};
}

}  // namespace natten_sim::validate::works
