#pragma once

#include <optional>
#include <string>
#include <variant>

#include <natten_sim/report/described.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::report {

// The members of a predicted time, in the answers of several subcommands.

template <typename Members>
void describe(Members& m, Of<CostEvidence>) {
  using E = CostEvidence;
  m.put("evidence", &E::origin,
        "What the costs rest on: runs on this GPU, a transfer from others, or physics");
  m.when([](const E& evidence) { return !evidence.transfer.empty(); },
         [](auto& transferred) {
           transferred.put("transfer", &E::transfer, "Kind of the transfer");
           transferred.put("left_out_cells", &E::points,
                           "Measured cells that judged such transfers, each without itself");
         });
  m.put("runs", &E::runs, "Measured runs that the costs were fitted to");
  m.put("kinds", &E::kinds, "Kinds of masking among those runs");
  m.put("left_out_mean_error", path(&E::left_out, &FitErrors::mean),
        "Mean relative error of runs that were left out of the fit; null with a single run");
  m.put("left_out_worst_error", path(&E::left_out, &FitErrors::worst),
        "Largest relative error of runs that were left out of the fit; null with a single run");
  m.put("interval", &E::interval, "Half width of the 90% interval, as a fraction of the time");
  m.include(&E::judged, [](auto& judged) {
    judged.put("judged_launches", &JudgedLaunches::points, "Measured launches that no cost was fitted to");
    judged.put("judged_inside", &JudgedLaunches::inside, "Share of them inside the interval");
  });
  m.put("source", &E::source);
}

template <typename Members>
void describe(Members& m, Of<study::PassTime>) {
  using T = study::PassTime;
  m.put("ctas", &T::ctas, "CTAs of the launch");
  m.put("waves", &T::waves, "CTAs over the workers that run at once");
  m.put("tflops_per_s", &T::tflops_per_s, "What the kernel multiplies over its time");
  m.put("parts_ms", &T::parts, "Parts of the kernel's time", [](auto& parts) {
    parts.put("tiles", &LaunchTime::tiles_ms, "Pairs of tiles without masking");
    parts.put("masking", &LaunchTime::masking_ms, "What masked pairs take more");
    parts.put("prologue", &LaunchTime::prologue_ms, "Start and end of CTAs");
    parts.put("tail", &LaunchTime::tail_ms, "Idle workers at the end");
    parts.put("launch", &LaunchTime::launch_ms, "The launch itself");
    parts.put("power", &LaunchTime::slowdown_ms, "Lower clocks at the power limit");
  });
  m.put("dense_kernel", unless_empty(&T::dense_kernel),
        "Fastest kernel of the device for the same tokens without a mask");
  m.put("dense_ms", &T::dense_ms, "Time of that kernel");
  m.when(&T::dense_masked,
         [](auto& some) { some.put("dense_masked", &T::dense_masked, "Its time is of a causal mask"); });
  m.when(&T::dense_unordered, [](auto& some) {
    some.put("dense_unordered", &T::dense_unordered,
             "That kernel has no deterministic gradients, which were asked for");
  });
  m.put("speedup_kernel", &T::speedup_kernel, "Dense time over the time of the kernel without copies");
  m.optional("copies", &T::copies, "What the time of copies rests on", [](auto& copies) {
    using C = study::CopyEvidence;
    copies.put("natten", &C::natten, "First release of NATTEN with these copies; empty: any");
    copies.put("origin", &C::origin, "How they were timed");
    copies.put("interval", &C::interval, "Half width of their 90% interval, as a fraction");
    copies.put("source", &C::source);
  });
  m.when([](const T& time) { return !time.mask_function.empty(); },
         [](auto& evaluated) {
           evaluated.put("mask_function", &T::mask_function, "What partial blocks evaluate");
           evaluated.put("mask_instructions", &T::mask_instructions, "Instructions of it per pair of tokens");
         });
  m.optional("unmeasured", unless_empty(&T::unmeasured), "What no measured run had, and what would tell");
  m.put("costs", &T::evidence, "What the time rests on");
}

/// Only with a device or a kernel: otherwise none of its members are there.
template <typename Members>
void describe(Members& m, Of<study::TimeAnswer>) {
  using T = study::PassTime;
  const auto time = [](const study::TimeAnswer& answer) { return std::get_if<T>(&answer); };
  m.put("time_ms", time, "Predicted time of the pass; null where nothing tells it", [](auto& ms) {
    ms.put("kernel", &T::kernel_ms, "The attention kernel");
    ms.put("permutation", &T::permutation_ms, "Copies into tiles and back; null: their rate is not known");
    ms.when([](const T& each) { return each.repetition_ms != 0.0; },
            [](auto& some) {
              some.put("repetition", &T::repetition_ms,
                       "K and V repeated for all query heads; null: the rate is not known");
            });
    ms.put("total", &T::total_ms, "The kernel and the copies");
    ms.put("low", &T::low_ms, "Least total of the 90% interval");
    ms.put("high", &T::high_ms, "Largest total of the 90% interval");
    ms.optional("back_to_back", &T::back_to_back_ms, "Total of launches without a rest between them");
    ms.put("limited_by", &T::limited_by, "The largest part of the time");
  });
  m.put(
      "speedup_time",
      [](const study::TimeAnswer& answer) {
        const auto* known = std::get_if<T>(&answer);
        return known != nullptr ? known->speedup : std::nullopt;
      },
      "Time of dense attention over the total");
  m.optional(
      "time_missing",
      [](const study::TimeAnswer& answer) {
        const auto* missing = std::get_if<study::MissingTime>(&answer);
        return missing != nullptr ? &missing->sentence : nullptr;
      },
      "Why there is no time, and what measurement would give one");
  m.optional("time", time, "Details of the predicted time");
}

}  // namespace natten_sim::report
