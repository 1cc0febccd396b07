#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/report/draw/tile_map.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::report {
namespace {

using study::BlockCount;
using study::MaskAnswer;

/// Masks of a file that are drawn side by side; more are not told apart on a page.
constexpr std::int64_t kMostMasks = 12;

std::string subject_of(const MaskAnswer& answer) {
  return fmt::format("{}, {} queries, {} keys", mask_text(answer.question.mask.mask), *answer.question.q_tokens,
                     *answer.question.kv_tokens);
}

draw::Picture draw_tiles(const MaskAnswer& answer, const study::Context& context) {
  const BlockCount& count = answer.count;
  const std::int64_t shown = std::min(answer.masks, kMostMasks);
  draw::TileMap map{
      .heading = {"Blocks visited", fmt::format("{}, blocks of {}x{} tokens", subject_of(answer), count.q_tile,
                                                count.kv_tile)},
      .across = "KV blocks",
      .down = "Q blocks",
      .tile_name = "KV block",
      .width = count.kv_tiles,
      .height = count.q_tiles};
  if (shown < answer.masks) map.heading.subtitle += fmt::format(", the first {} of {} masks", shown, answer.masks);
  for (std::int64_t mask = 0; answer.masks > 1 && mask < shown; ++mask) map.slices.push_back(fmt::format("mask {}", mask));
  draw::require_drawable(map);
  const BlockMask blocks = study::mask_blocks(answer.question, context.catalog);
  const auto& rows = blocks.attended().kv_of_q;
  for (std::int64_t q = 0; q < shown * count.q_tiles; ++q) {
    for (const std::int32_t kv : rows[static_cast<std::size_t>(q)]) {
      const bool full = blocks.at(static_cast<std::int32_t>(q), kv) == TileWork::kFull;
      map.tiles.push_back({.slice = q / count.q_tiles,
                           .x = kv,
                           .y = q % count.q_tiles,
                           .coverage = full ? draw::Coverage::kFull : draw::Coverage::kPartial});
    }
  }
  return draw::render(map);
}

/// Time of the forward pass; null if it is not known.
const study::PassTime* time_of(const BlockCount& count) {
  return count.forward ? std::get_if<study::PassTime>(&*count.forward) : nullptr;
}

draw::Picture draw_blocks(const MaskAnswer& answer, const study::Context&) {
  const bool timed = time_of(answer.count) != nullptr;
  draw::BarChart chart{.heading = {"Sizes of blocks", subject_of(answer)},
                       .value = {.label = timed ? "predicted time, forward (ms)" : "visited blocks (%)",
                                 .unit = timed ? draw::Unit::kNumber : draw::Unit::kPercent}};
  const auto add = [&](const BlockCount& count) {
    const study::PassTime* time = time_of(count);
    if (timed && time == nullptr) return;
    chart.bars.push_back({fmt::format("{}x{} tokens", count.q_tile, count.kv_tile),
                          timed ? time->total_ms : count.visited_share(answer.masks)});
  };
  add(answer.count);
  for (const BlockCount& other : answer.others) add(other);
  return picture_of(chart);
}

}  // namespace

const PictureKinds<MaskAnswer>& mask_pictures() {
  static const PictureKinds<MaskAnswer> kinds = {
      {.name = "tiles", .what = "which blocks are visited", .draw = draw_tiles},
      {.name = "blocks", .what = "the time, or the share that is visited, of each size of blocks", .draw = draw_blocks}};
  return kinds;
}

}  // namespace natten_sim::report
