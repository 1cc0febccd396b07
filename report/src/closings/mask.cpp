#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/time_report.hpp>

#include "closings/certainty.hpp"

namespace natten_sim::report {
namespace {

const study::PassTime* time_in(const study::BlockCount& count) {
  return count.forward ? std::get_if<study::PassTime>(&*count.forward) : nullptr;
}

double area(const study::BlockCount& count) {
  return static_cast<double>(count.visited) * static_cast<double>(count.q_tile) *
         static_cast<double>(count.kv_tile);
}

void advise_blocks(const study::BlockCount& blocks, double gain, std::string gain_text, Closing& closing) {
  closing.change =
      fmt::format("first take Q blocks of {} tokens and KV blocks of {}", blocks.q_tile, blocks.kv_tile);
  closing.options["q_tile"] = blocks.q_tile;
  closing.options["kv_tile"] = blocks.kv_tile;
  closing.gain = gain;
  closing.gain_text = std::move(gain_text);
}

}  // namespace

Closing closing_of(const study::MaskAnswer& answer) {
  Closing closing;
  const study::BlockCount& count = answer.count;
  closing.limit = fmt::format(
      "{:.1f}% of the blocks are visited, {:.1f}% of those partly masked",
      100 * count.visited_share(answer.masks),
      count.visited == 0 ? 0.0
                         : 100 * static_cast<double>(count.partial) / static_cast<double>(count.visited));
  closing.certainty = "counts are exact";
  const study::BlockCount* other = answer.others.empty() ? nullptr : &answer.others.front();
  const study::PassTime* time = time_in(count);
  if (time == nullptr) {
    if (!count.forward && other != nullptr && area(*other) < 0.9 * area(count))
      advise_blocks(*other, area(count) / area(*other),
                    fmt::format("{:.2f}x fewer pairs in visited blocks", area(count) / area(*other)),
                    closing);
    return closing;
  }
  closing.limit = fmt::format("one attention takes {}, most of it in {}; {}", duration_text(time->total_ms),
                              time->limited_by, closing.limit);
  closing.certainty += ", " + certainty_of(time->evidence);
  // Only where the slowest that the others may be is faster than the fastest that this one may be.
  const study::PassTime* of_other = other == nullptr ? nullptr : time_in(*other);
  if (of_other != nullptr && of_other->high_ms < time->low_ms)
    advise_blocks(*other, time->total_ms / of_other->total_ms,
                  fmt::format("{:.2f}x faster ({} to {})", time->total_ms / of_other->total_ms,
                              duration_text(time->total_ms), duration_text(of_other->total_ms)),
                  closing);
  if (closing.change.empty() && time->speedup && *time->speedup < 1) {
    const bool same = std::holds_alternative<CausalMask>(answer.question.mask.mask.rule);
    closing.change = "first take " + time->dense_kernel +
                     (same ? ", which has this mask itself" : time->dense_masked ? ", causal" : " without a mask");
    closing.gain = 1 / *time->speedup;
    closing.gain_text =
        fmt::format("{:.2f}x faster ({} to {}){}", 1 / *time->speedup, duration_text(time->total_ms),
                    duration_text(*time->dense_ms), same                  ? ""
                    : time->dense_masked ? ", where the rest of the mask may be left out"
                                         : ", where the mask may be left out");
  }
  return closing;
}

}  // namespace natten_sim::report
