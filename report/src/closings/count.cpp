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

/// The backward pass has tiles and a time of its own, which no change below is about.
std::string backward_text(const study::BackwardCount& backward) {
  const auto* time = backward.time ? std::get_if<study::PassTime>(&*backward.time) : nullptr;
  return fmt::format("; the backward pass {} ({})",
                     time != nullptr ? "takes " + duration_text(time->total_ms)
                                     : "visits " + grouped(backward.count.visited_tiles) + " tiles",
                     pair_text(backward.problem.tiles));
}

void add_tiles(const TilePair& tiles, Closing& closing) {
  closing.options["q_tile"] = to_json(tiles.q_tile);
  closing.options["kv_tile"] = to_json(tiles.kv_tile);
}

void say_change(const study::CountAnswer& answer, const study::CountConclusion& end, Closing& closing) {
  const study::CountChange& change = *end.change;
  const bool other_tiles = change.tiles != answer.forward.problem.tiles;
  closing.gain = change.gain;
  closing.gain_text = end.of == study::CountGain::kTime
                          ? fmt::format("{}x faster, {}", ratio_text(change.gain), duration_text(change.after))
                          : fmt::format("{:.2f}x fewer multiplied pairs", change.gain);
  switch (change.lever) {
    case study::CountLever::kTiles:
      closing.change = "first take " + pair_text(change.tiles);
      add_tiles(change.tiles, closing);
      return;
    case study::CountLever::kStride:
      closing.change =
          fmt::format("changing tiles alone does not help, so first take stride {}{}, with which neighbours share "
                      "windows",
                      to_string(change.stride), other_tiles ? ", " + pair_text(change.tiles) : "");
      if (other_tiles) add_tiles(change.tiles, closing);
      closing.options["stride"] = to_json(change.stride);
      return;
    case study::CountLever::kWindow:
      closing.change = fmt::format(
          "no tile shape or stride of whole Q tiles does better, so first take a smaller window, say {}",
          to_string(change.window));
      closing.options["window"] = to_json(change.window);
      closing.options["stride"] = to_json(change.stride);
  }
}

}  // namespace

Closing closing_of(const study::CountAnswer& answer, const study::CountConclusion& end) {
  Closing closing;
  closing.limit = limit_of(answer, end);
  if (answer.backward) closing.limit += backward_text(*answer.backward);
  if (answer.kernel.refusal) {
    closing.limit = "NATTEN refuses this call";
    closing.change = "first mend what its rule says above";
  } else if (end.change) {
    say_change(answer, end, closing);
  }
  if (const study::PassTime* time = predicted(answer)) {
    closing.certainty = "counts are exact, " + certainty_of(time->evidence);
  } else {
    closing.certainty = answer.time ? "counts are exact, and a time is not predicted"
                                    : "counts are exact, and milliseconds need a device";
  }
  return closing;
}

}  // namespace natten_sim::report
