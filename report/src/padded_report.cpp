#include <fmt/format.h>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {

std::string padded_text(const study::CountAnswer& answer) {
  const study::CountAnswer& padded = *answer.padded;
  const TilingProblem& problem = padded.forward.problem;
  const TileCount& count = padded.forward.count;
  std::string text =
      fmt::format("\nNATTEN has no cyclic axes. Padded with tokens of the other end, to {}:\n  {} tiles visited, "
                  "{:.2f}x the multiplied pairs (Q tile {}, KV tile {})\n",
                  to_string(input_of(problem.mask)), grouped(count.visited_tiles),
                  static_cast<double>(count.mma_pairs) / static_cast<double>(answer.forward.count.mma_pairs),
                  to_string(problem.tiles.q_tile), to_string(problem.tiles.kv_tile));
  const auto* time = padded.time ? std::get_if<study::PassTime>(&*padded.time) : nullptr;
  if (time == nullptr || !padded.kernel.forward) return text;
  const std::optional<study::CycleCopies>& copies = answer.cycle_copies;
  const char* const kernel = study::name_of(padded.kernel.forward->attention);
  if (const std::optional<study::PaddedTime> whole = study::padded_time(answer)) {
    text += fmt::format("  {} by {} ({} .. {}), {} of it padding\n", duration_text(whole->total_ms), kernel,
                        duration_text(whole->low_ms), duration_text(whole->high_ms), duration_text(copies->padding_ms));
  } else {
    text += fmt::format("  {} by {} without the time of padding ({} .. {})\n", duration_text(time->total_ms), kernel,
                        duration_text(time->low_ms), duration_text(time->high_ms));
  }
  if (!copies) return text;
  return text + fmt::format("copies of callers, by the rate of NATTEN's within {:.0f}%: padding as above; {}\n",
                            100 * copies->interval,
                            copies->blocks_ms > 0 ? "into FlexAttention's blocks and back " + duration_text(copies->blocks_ms)
                                                  : "FlexAttention's blocks are rows, which are not copied");
}

}  // namespace natten_sim::report
