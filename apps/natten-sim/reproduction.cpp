#include "reproduction.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/models/cost.hpp>
#include <natten_sim/models/tile_count.hpp>
#include <natten_sim/search/search.hpp>
#include <natten_sim/sim/tile_walk.hpp>

namespace natten_sim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Half a unit of the second decimal as printed, and half as much again for the rounding before it.
constexpr double kTwoDecimals = 0.0075;
constexpr double kOneDecimal = 0.05;

Extents extents(const Json& array) {
  Extents result;
  for (const Json& value : array) result.push_back(value.get<std::int64_t>());
  return result;
}

/// The tables round the operation's speedup to one decimal before Amdahl's law.
double one_decimal(double speedup) { return std::round(speedup * 10.0) / 10.0; }

TileCount count_case(const Json& entry, const Extents& input, const Extents& stride) {
  return count_tiles({.mask = make_mask(input, extents(entry["window"]), stride),
                      .tiles = {extents(entry["q_tile"]), extents(entry["kv_tile"])}});
}

void add_table(const Json& table, const Preset& preset, std::vector<ReproducedRow>& rows) {
  const std::string figure = "table " + table["table"].get<std::string>();
  const Extents window = extents(table["window"]);
  const AttentionShare all{*preset.attention_share, 0, *preset.steps},
      after{*preset.attention_share, *preset.dense_steps, *preset.steps};
  const TileCount first = count_case(table, preset.layout, Extents(window.rank(), 1));
  const std::string name = preset.name + " " + to_string(window);
  rows.push_back(number_row(figure, name + ", sparsity in percent", table["sparsity_percent"],
                            100.0 * first.sparsity(), 0.5));
  for (const auto& [setting, share] : {std::pair{"all_steps", all}, std::pair{"after_dense_steps", after}}) {
    rows.push_back(number_row(
        figure, fmt::format("{}, {}/{} dense, FLOP-wise", name, share.dense_steps, share.steps),
        table["flop"][setting], end_to_end_speedup(share, one_decimal(first.speedup_flop())), kTwoDecimals));
  }
  std::string printed_ladder;
  for (const Json& entry : table["rows"]) {
    const Extents stride = extents(entry["stride"]);
    printed_ladder += (printed_ladder.empty() ? "" : " ") + to_string(stride);
    const double worst = count_case(table, preset.layout, stride).speedup_worst();
    for (const auto& [setting, share] :
         {std::pair{"all_steps", all}, std::pair{"after_dense_steps", after}}) {
      ReproducedRow row = number_row(
          figure,
          fmt::format("{}, {}/{} dense, stride {}", name, share.dense_steps, share.steps, to_string(stride)),
          entry["end_to_end"][setting], end_to_end_speedup(share, one_decimal(worst)), kTwoDecimals,
          fmt::format("operation {:.3f}x; unrounded {:.4f}", worst, end_to_end_speedup(share, worst)));
      if (row.verdict == Verdict::kOutside && entry.contains("known_deviation")) {
        row.verdict = Verdict::kKnown;
        row.note += "; " + entry["known_deviation"].get<std::string>();
      }
      rows.push_back(row);
    }
  }
  SearchSpace space = full_space(preset.layout);
  for (std::size_t axis = 0; axis < window.rank(); ++axis) space.window[axis] = {window[axis], window[axis]};
  space.tiles = {{"", {extents(table["q_tile"]), extents(table["kv_tile"])}}};
  std::string ladder;
  for (const Candidate& candidate : stride_ladder(space, {}).candidates)
    ladder += (ladder.empty() ? "" : " ") + to_string(stride_of(candidate.mask));
  rows.push_back({figure, name + ", stride ladder", printed_ladder, ladder, 0, 0,
                  ladder == printed_ladder ? Verdict::kWithin : Verdict::kOutside, ""});
}

void add_figure_4_5(const Json& figure, std::vector<ReproducedRow>& rows) {
  std::int64_t stride = 0;
  for (const Json& published : figure["visited_tiles_by_stride"]) {
    const TileCount count = count_case(figure, extents(figure["input"]), {++stride});
    rows.push_back(number_row("figure 4.5",
                              fmt::format("visited of {} tiles, stride {}", count.dense_tiles, stride),
                              published, static_cast<double>(count.visited_tiles), 0));
    // The figure draws the mask in full: the walk over its tiles must agree.
    const TileCount walked =
        walk_tiles({.mask = make_mask(extents(figure["input"]), extents(figure["window"]), {stride}),
                    .tiles = {extents(figure["q_tile"]), extents(figure["kv_tile"])}});
    if (!(walked == count)) rows.back().verdict = Verdict::kOutside;
  }
}

void add_figure_4_7(const Json& figure, const Preset& preset, std::vector<ReproducedRow>& rows) {
  const auto worst = [&](const Extents& stride) {
    return count_case(figure, preset.layout, stride).speedup_worst();
  };
  rows.push_back(number_row("figure 4.7", "hunyuan-video 18x24x24, stride 1x1x1, operation",
                            figure["speedup_stride_1"], worst({1, 1, 1}), kOneDecimal,
                            fmt::format("by the mean Q tile {:.2f}x",
                                        count_case(figure, preset.layout, {1, 1, 1}).speedup_mean())));
  const double spatial = worst({1, 8, 8}), bound = figure["speedup_more_than_with_spatial_stride_8"];
  rows.push_back({"figure 4.7", "hunyuan-video 18x24x24, stride 1x8x8, operation",
                  fmt::format("more than {:g}", bound), fmt::format("{:.4f}", spatial), 0, 0,
                  spatial > bound ? Verdict::kWithin : Verdict::kOutside, ""});
  rows.push_back(number_row("figure 4.7", "hunyuan-video 18x24x24, stride 16x8x8, operation",
                            figure["speedup_fully_block_sparse"], worst({16, 8, 8}), kOneDecimal,
                            count_case(figure, preset.layout, {16, 8, 8}).fully_block_sparse()
                                ? "fully block-sparse, as stated"
                                : "NOT fully block-sparse"));
}

}  // namespace

ReproducedRow number_row(std::string figure, std::string item, double published, double ours,
                         double tolerance, std::string note) {
  ReproducedRow row{std::move(figure),
                    std::move(item),
                    fmt::format("{:g}", published),
                    tolerance > 0 ? fmt::format("{:.4f}", ours) : fmt::format("{:g}", ours),
                    ours - published,
                    tolerance,
                    Verdict::kWithin,
                    std::move(note)};
  if (std::abs(row.deviation) > tolerance) row.verdict = Verdict::kOutside;
  return row;
}

std::vector<ReproducedRow> reproduce_gna() {
  const Json published = Json::parse(published_gna_figures());
  const Catalog catalog = builtin_catalog();
  std::vector<ReproducedRow> rows;
  add_figure_4_5(published["figure_4_5"], rows);
  add_figure_4_7(published["figure_4_7"], catalog.preset("hunyuan-video"), rows);
  for (const Json& table : published["tables"])
    add_table(table, catalog.preset(table["preset"].get<std::string>()), rows);
  return rows;
}

}  // namespace natten_sim::cli
