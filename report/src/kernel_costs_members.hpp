#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/report/described.hpp>

#include "four_digits.hpp"

namespace natten_sim::report {

// Members of calibrated times, as data/kernel-times.json has them.

[[nodiscard]] inline const char* pass_name(Walk pass) { return pass == Walk::kForward ? "forward" : "backward"; }

template <typename Members>
void describe(Members& m, Of<PermutationRate>) {
  using R = PermutationRate;
  m.put("axes", &R::axes, "Axes of the layout");
  m.optional("natten", unless_empty(&R::natten), "First release of NATTEN with these copies");
  m.put("into_bytes_per_s", four_digits_of(&R::into_bytes_per_s), "Copies into tiles, bytes read and written");
  m.put("out_bytes_per_s", four_digits_of(&R::out_bytes_per_s), "Copies out of tiles, bytes read and written");
  m.optional("lse_bytes_per_s", [](const R& rate) {
    return rate.lse_bytes_per_s ? std::optional(four_digits(*rate.lse_bytes_per_s)) : std::nullopt;
  }, "Copies of log-sum-exp, either way");
  m.put("interval", four_digits_of(&R::interval), "Half width of the interval of a call's copies, as a fraction");
  m.put("origin", &R::origin, "How they were timed");
  m.put("source", &R::source);
}

template <typename Members>
void describe(Members& m, Of<PassCosts>) {
  using P = PassCosts;
  const auto of_axes = [](auto member) {
    return [member](const P& costs) {
      std::vector<double> times;
      for (const double time : costs.*member) times.push_back(four_digits(time));
      return times;
    };
  };
  m.put("q_tile_tokens", &P::q_tile_tokens, "Tokens of a Q tile");
  m.put("kv_tile_tokens", &P::kv_tile_tokens, "Tokens of a KV tile");
  m.optional("ctas_per_sm", [](const P& costs) {
    return costs.ctas_per_sm != 1 ? std::optional(costs.ctas_per_sm) : std::nullopt;
  }, "CTAs at a time on an SM; 1 where it is absent");
  m.optional("lone_share", if_positive(&P::lone_share), "Share of an SM's rate that a CTA alone on it gets");
  m.optional("step_jitter", if_positive(&P::step_jitter), "How far CTAs fall out of step, as a share of a step");
  m.optional("lock_share", if_positive(&P::lock_share),
             "Share of a pair's time in which one CTA adds to a shared gradient");
  m.optional("clipped_share", if_positive(&P::clipped_share),
             "Share of a pair's time that tiles without all tokens save");
  m.optional("prepared_bytes_per_s", if_positive(&P::prepared_bytes_per_s),
             "What is zeroed and summed before the kernel");
  m.optional("axes_tile_us", [of_axes](const P& costs) {
    return costs.axes_tile_us != P{}.axes_tile_us ? std::optional(of_axes(&P::axes_tile_us)(costs)) : std::nullopt;
  }, "What every pair of tiles takes more on 1, 2 and 3 axes");
  m.put("unmasked_tile_us", four_digits_of(&P::unmasked_tile_us), "A pair of tiles without a mask");
  m.put("bounds_masked_tile_us", four_digits_of(&P::bounds_masked_tile_us), "A pair at the end of the tokens");
  m.put("cta_us", four_digits_of(&P::cta_us), "Begin and end of a CTA");
  m.put("launch_us", four_digits_of(&P::launch_us), "A launch");
  m.put("slowdown", four_digits_of(&P::slowdown), "What long runs take more, as a fraction");
  m.put("slowdown_ms", four_digits_of(&P::slowdown_ms), "Length of a run that takes half of that more");
  m.optional("spared_slowdown", if_positive(&P::spared_slowdown), "Share of that which masked pairs are spared");
  m.put("masked_tile_us", of_axes(&P::masked_tile_us), "A pair with a mask, in layouts of 1, 2 and 3 axes");
  m.optional("causal_ctas_per_sm", [](const P& costs) {
    return costs.causal_ctas_per_sm != 0 ? std::optional(costs.causal_ctas_per_sm) : std::nullopt;
  }, "CTAs at a time on an SM on two axes of which one is causal");
  m.optional("causal_two_axes", [](const P& costs) {
    return costs.causal_two_axes != 1 ? std::optional(four_digits(costs.causal_two_axes)) : std::nullopt;
  }, "What a pair takes then, over what it takes on two axes without");
  m.include(&P::evidence, [](auto& of) {
    using E = CostEvidence;
    of.put("runs", &E::runs, "Measured runs that were fitted");
    of.put("kinds", &E::kinds, "Kinds of those runs");
    of.put("left_out", &E::left_out, "Relative errors of runs, each predicted without itself; null: a single run",
           [](auto& errors) {
             errors.put("mean", four_digits_of(&FitErrors::mean), "Mean");
             errors.put("worst", four_digits_of(&FitErrors::worst), "Largest");
           });
    of.put("interval", four_digits_of(&E::interval), "Half width of the interval, as a fraction");
    of.put("source", &E::source);
    of.optional("fitted", unless_empty(&E::fitted), "Keys of the fitted runs");
  });
}

template <typename Members>
void describe(Members& m, Of<KernelCosts>) {
  using K = KernelCosts;
  m.put("kernel", &K::kernel);
  m.put("device", &K::device);
  m.put("head_dim", &K::head_dim, "Head dim");
  m.put("dtypes", &K::dtypes, "Element types");
  m.put("ctas_per_sm", [](const K&) { return std::int64_t{1}; },
        "CTAs at a time on an SM, where a pass does not say it");
  m.optional("forward", [](const K& costs) { return costs.costs_of(Walk::kForward); }, "Costs of the forward pass");
  m.optional("backward", [](const K& costs) { return costs.costs_of(Walk::kBackward); }, "Costs of the backward pass");
  m.optional("permutation", unless_empty(&K::permutation), "Rates of copies into tiles and back");
}

/// A file of costs.
struct CostsFile {
  const std::vector<KernelCosts>* entries;
};

template <typename Members>
void describe(Members& m, Of<CostsFile>) {
  m.put("schema", [](const CostsFile&) { return "natten-sim.kernel-times/1"; },
        "Format of these costs as a file, which --costs reads");
  m.put("kernels", [](const CostsFile& file) -> const auto& { return *file.entries; }, "Its entries");
}

}  // namespace natten_sim::report
