#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/time_report.hpp>

#include "closings/certainty.hpp"
#include "closings/choice.hpp"

namespace natten_sim::report {
namespace {

const study::PassTime& time_of(const study::DeviceAdvice& advice) {
  return std::get<study::PassTime>(*advice.choices.front().count.time);
}

bool dense_unordered(const study::AdviceChoice& choice) {
  const auto& backward = choice.count.backward;
  return backward && backward->time && std::get<study::PassTime>(*backward->time).dense_unordered;
}

std::string whole_model_text(const study::EndToEndGain& gain) {
  const Bounded& speedup = gain.speedup;
  return gain.estimated ? fmt::format(", about {:.2f}x end to end ({:.2f} .. {:.2f}, estimated)", speedup.value,
                                      speedup.low, speedup.high)
                        : fmt::format(", {:.2f}x end to end", speedup.value);
}

}  // namespace

Closing closing_of(const study::AdviseAnswer& answer) {
  const study::SearchAnswer* heads = nullptr;
  for (const study::DeviceAdvice& advice : answer.devices) {
    if (advice.heads && (heads == nullptr || advice.heads->choice->ms < heads->choice->ms)) heads = &*advice.heads;
  }
  if (heads != nullptr) return closing_of_choice(*heads);
  Closing closing;
  const study::DeviceAdvice* best = nullptr;
  for (const study::DeviceAdvice& advice : answer.devices) {
    if (advice.choices.empty()) continue;
    if (best == nullptr || advice.choices.front().total_ms < best->choices.front().total_ms) best = &advice;
  }
  const bool untimed = std::all_of(answer.devices.begin(), answer.devices.end(),
                                   [](const study::DeviceAdvice& advice) { return advice.untimed; });
  if (best == nullptr && untimed) {
    closing.limit = "nobody has timed the kernel there, so no configuration is known to be fast";
    closing.change = "first time a few runs of it and calibrate on them";
    closing.certainty = "what is missing stands above";
    return closing;
  }
  if (best == nullptr) {
    closing.limit = "no device has a configuration for this wish";
    closing.change = "first wish for another sparsity or speedup";
    closing.certainty = "what is missing stands above";
    return closing;
  }
  const study::AdviceChoice& choice = best->choices.front();
  const study::PassTime& time = time_of(*best);
  const NeighborhoodMask& mask = choice.count.forward.problem.mask;
  closing.limit = fmt::format("on {} one attention of one layer takes {}, most of it in {}", best->device,
                              duration_text(time.total_ms), time.limited_by);
  if (choice.count.backward)
    closing.limit = fmt::format("on {} one attention of one layer takes {} forward and backward", best->device,
                                duration_text(choice.total_ms));
  closing.certainty = certainty_of(time.evidence);
  const std::string dense = time.dense_kernel + (dense_unordered(choice) ? ", not deterministic" : "");
  if (choice.speedup && *choice.speedup <= 1) {
    closing.change = "keep dense attention, or wish for more sparsity";
    closing.gain_text = fmt::format("{} by {}, {} with the fastest such window",
                                    duration_text(*choice.speedup * choice.total_ms), dense, duration_text(choice.total_ms));
    return closing;
  }
  closing.change =
      fmt::format("first take window {}, stride {}", to_string(window_of(mask)), to_string(stride_of(mask)));
  closing.options["window"] = to_json(window_of(mask));
  closing.options["stride"] = to_json(stride_of(mask));
  if (choice.speedup) {
    closing.gain = choice.speedup;
    closing.gain_text = fmt::format("{:.2f}x over {}", *choice.speedup, dense);
    if (choice.end_to_end) closing.gain_text += whole_model_text(*choice.end_to_end);
  }
  return closing;
}

}  // namespace natten_sim::report
