#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

#include "closings/certainty.hpp"

namespace natten_sim::report {
namespace {

constexpr double kUneven = 1.1, kMuchWaste = 0.05;

const study::PassTime* predicted(const study::CountAnswer& answer) {
  return answer.time ? std::get_if<study::PassTime>(&*answer.time) : nullptr;
}

std::string limit_of(const study::CountAnswer& answer, const study::CountConclusion& end) {
  const TileCount& count = answer.forward.count;
  std::string text;
  if (const study::PassTime* time = predicted(answer))
    text = fmt::format("most of {} goes into {}, ", duration_text(time->total_ms), time->limited_by);
  text +=
      end.busiest_over_mean >= kUneven
          ? fmt::format("the busiest Q tile visits {} KV tiles, {:.2f} times the mean",
                        grouped(count.max_tiles_per_walked_tile), end.busiest_over_mean)
          : fmt::format("each Q tile visits about {:.4g} KV tiles",
                        static_cast<double>(count.visited_tiles) / static_cast<double>(count.walked_tiles()));
  if (end.wasted_share >= kMuchWaste)
    text += fmt::format(", and {:.0f}% of the multiplied pairs are masked or padded", 100 * end.wasted_share);
  return text;
}

std::string pair_text(const TilePair& tiles) {
  return fmt::format("Q tile {} with KV tile {}", to_string(tiles.q_tile), to_string(tiles.kv_tile));
}

/// The backward pass has tiles and a time of its own.
std::string backward_text(const study::BackwardCount& backward) {
  const auto* time = backward.time ? std::get_if<study::PassTime>(&*backward.time) : nullptr;
  return fmt::format("; the backward pass {} ({})",
                     time != nullptr ? "takes " + duration_text(time->total_ms)
                                     : "visits " + grouped(backward.count.visited_tiles) + " tiles",
                     pair_text(backward.problem.tiles));
}

/// The tiles of a change that are not the answer's, pass by pass, which become options; empty: all are.
std::string tiles_text(const study::CountAnswer& answer, const study::CountChange& change, Closing& closing) {
  std::string text;
  if (change.tiles != answer.forward.problem.tiles) {
    text = pair_text(change.tiles);
    closing.options["q_tile"] = to_json(change.tiles.q_tile);
    closing.options["kv_tile"] = to_json(change.tiles.kv_tile);
  }
  const std::optional<TilePair>& backward = change.backward_tiles;
  if (backward && answer.backward && *backward != answer.backward->problem.tiles) {
    text += (text.empty() ? "backward " : ", backward ") + pair_text(*backward);
    closing.options["backward_q_tile"] = to_json(backward->q_tile);
    closing.options["backward_kv_tile"] = to_json(backward->kv_tile);
  }
  return text;
}

/// What a faster forward pass makes of the whole model; empty: attention's share is not known, or training is asked about.
std::string end_to_end_text(const study::CountAnswer& answer, double after_ms) {
  const study::PassTime* const time = predicted(answer);
  const std::optional<AttentionShare> share = study::share_of(answer.question.setting);
  if (answer.backward || !answer.end_to_end_by_time || time == nullptr || !time->dense_ms || !share) return "";
  return fmt::format(", {:.2f}x end to end over dense instead of {:.2f}x",
                     end_to_end_speedup(*share, *time->dense_ms / after_ms), *answer.end_to_end_by_time);
}

void say_change(const study::CountAnswer& answer, const study::CountConclusion& end, Closing& closing) {
  const study::CountChange& change = *end.change;
  const std::string tiles = tiles_text(answer, change, closing), with_tiles = tiles.empty() ? "" : ", " + tiles;
  closing.gain = change.gain;
  closing.gain_text = end.of == study::CountGain::kTime
                          ? fmt::format("{}x faster, {}{}{}", ratio_text(change.gain), duration_text(change.after),
                                        change.backward_tiles ? " forward and backward" : "",
                                        end_to_end_text(answer, change.after))
                          : fmt::format("{:.2f}x fewer multiplied pairs", change.gain);
  switch (change.lever) {
    case study::CountLever::kTiles:
      closing.change = "first take " + tiles;
      return;
    case study::CountLever::kStride:
      closing.change =
          fmt::format("changing tiles alone does not help, so first take stride {}{}, with which neighbours share "
                      "windows",
                      to_string(change.stride), with_tiles);
      closing.options["stride"] = to_json(change.stride);
      return;
    case study::CountLever::kWindow:
      closing.change = fmt::format(
          "no tile shape or stride of whole Q tiles does better, so first take a smaller window, say {}{}",
          to_string(change.window), with_tiles);
      closing.options["window"] = to_json(change.window);
      closing.options["stride"] = to_json(change.stride);
      return;
    case study::CountLever::kOrder:
      closing.change = fmt::format("first lay tokens out {}: tiling {}{}; copies into that order are not counted",
                                   change.tiling == Tiling::kSingleDimensional ? "row by row" : "tile by tile",
                                   to_string(change.tiling), with_tiles);
      closing.options["tiling"] = to_string(change.tiling);
  }
}

/// On cyclic axes NATTEN may be faster on padded tokens than FlexAttention with any change.
void say_padding(const study::CountAnswer& answer, Closing& closing) {
  constexpr double kWorthIt = 1.02;
  const study::PassTime* const time = predicted(answer);
  const std::optional<study::PaddedTime> padded = study::padded_time(answer);
  if (time == nullptr || !padded) return;
  const double gain = (time->total_ms + answer.cycle_copies->blocks_ms) / padded->total_ms;
  if (gain < std::max(kWorthIt, closing.gain.value_or(0))) return;
  closing.change = "first let NATTEN run it on padded tokens, as said above";
  closing.options = {};
  closing.gain = gain;
  closing.gain_text = fmt::format("{}x faster, {}, all copies counted", ratio_text(gain), duration_text(padded->total_ms));
}

}  // namespace

Closing closing_of(const study::CountAnswer& answer, const study::CountConclusion& end) {
  Closing closing;
  closing.limit = limit_of(answer, end);
  if (answer.backward) closing.limit += backward_text(*answer.backward);
  if (answer.kernel.refusal) {
    closing.limit = "NATTEN refuses this call";
    closing.change = "first mend what its rule says above";
    if (const auto& way_out = answer.kernel.way_out) {
      closing.change = fmt::format("first name the backend {}, which runs it", to_string(*way_out));
      closing.options["backend"] = to_string(*way_out);
    }
  } else if (end.change) {
    say_change(answer, end, closing);
  }
  say_padding(answer, closing);
  if (const study::PassTime* time = predicted(answer)) {
    closing.certainty = "counts are exact, " + certainty_of(time->evidence);
  } else {
    closing.certainty = answer.time ? "counts are exact, and a time is not predicted"
                                    : "counts are exact, and milliseconds need a device";
  }
  return closing;
}

}  // namespace natten_sim::report
