#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/study/kernel.hpp>

namespace natten_sim::report {

// What NATTEN's kernels do, in the answers of several subcommands.

template <typename Members>
void describe(Members& m, Of<study::KernelLaunch>) {
  using L = study::KernelLaunch;
  const auto visits = [](auto member) { return path(&L::visits, member); };
  m.put(
      "name", [](const L& launch) { return study::name_of(launch); }, "Name of the kernel");
  m.put("q_tile", path(&L::tiles, &TilePair::q_tile));
  m.put("kv_tile", path(&L::tiles, &TilePair::kv_tile));
  m.put("launched_tiles", visits(&KernelVisits::launched_tiles), "Tiles that CTAs are launched for");
  m.put("empty_tiles", visits(&KernelVisits::empty_tiles), "Launched tiles without a token");
  m.put("visited_tiles", visits(&KernelVisits::visited_tiles));
  m.put("empty_visits", visits(&KernelVisits::empty_visits), "Visited pairs of which no token pair attends");
  m.put(
      "masking", [](const L& launch) { return masking_of(launch.visits); }, "Which visited pairs run a mask");
  m.put("unmasked_tiles", visits(&KernelVisits::unmasked_tiles), "Visited pairs without any mask");
  m.put("bounds_masked_tiles", visits(&KernelVisits::bounds_masked_tiles),
        "Visited pairs that check bounds alone");
  m.put("masked_tiles", visits(&KernelVisits::masked_tiles), "Visited pairs that run the mask of elements");
  m.put("mma_pairs", &L::mma_pairs);
}

template <typename Members>
void describe(Members& m, Of<study::KernelSpeedups>) {
  using S = study::KernelSpeedups;
  m.put("mean", &S::mean, "By visited tiles");
  m.put("worst", &S::worst, "By the tile that visits most");
  m.put("work", &S::work, "By multiplied token pairs");
}

template <typename Members>
void describe(Members& m, Of<NattenRefusal>) {
  m.put("rule", &NattenRefusal::rule, "The rule of NATTEN that the call breaks");
  m.put("parameter", &NattenRefusal::parameter, "The parameter at fault");
  m.put("value", &NattenRefusal::value, "Its value");
  m.put("accepted", &NattenRefusal::accepted, "What NATTEN accepts");
  m.optional("hint", unless_empty(&NattenRefusal::nearest), "The nearest accepted value");
}

/// The kernels of one pass, of an answer.
struct KernelDone {
  const study::KernelAnswer* answer;
  const study::KernelPass* pass;
};

template <typename Members>
void describe(Members& m, Of<KernelDone>) {
  using P = study::KernelPass;
  const auto of = [](auto... members) { return path(&KernelDone::pass, members...); };
  m.include(of(&P::attention));
  m.put("dense_path", of(&P::dense_path));
  m.optional("instead_of", path(&KernelDone::answer, &study::KernelAnswer::unused_backend),
             "Backend of the call, where a dense kernel runs in its place");
  m.put("schedule", of(unless_empty(&P::schedule)),
        "Kernel schedule of hopper-fna; null: the kernel has none");
  m.put("natten_fast_path", of(&P::natten_fast_path));
  m.put("additional", of(&P::additional), "The dense kernel for additional keys; null: there are none");
  m.put("speedup", of(&P::speedup), "Over dense attention with the same kernel and tiles, without copies");
  m.put("permutation_bytes", of(&P::permutation, &TokenPermutation::bytes),
        "Bytes that copies into tiles and back read and write");
  m.include([](const KernelDone& done) { return done.pass->floors ? done.pass : nullptr; },
            [](auto& floors) {
              const auto dense = [](const P& pass) { return pass.floors->dense_ms ? &pass : nullptr; };
              floors.put(
                  "permutation_ms", [](const P& pass) { return pass.floors->permutation_ms; },
                  "Copies into tiles and back at the device's bandwidth");
              floors.put(
                  "dense_ms", [](const P& pass) { return pass.floors->dense_ms; },
                  "Dense attention at the device's rate; null: it has no rate of this type");
              floors.put(
                  "dense_rate",
                  [=](const P& pass) { return dense(pass) ? &pass.floors->dense_rate : nullptr; },
                  "Which rate that is: cudnn or peak");
              floors.put(
                  "speedup_with_permutation",
                  [=](const P& pass) { return dense(pass) ? pass.with_permutation : std::nullopt; },
                  "The speedup with the copies; null where a ratio of times says it");
            });
  m.include(
      [](const KernelDone& done) {
        return done.pass->walk == Walk::kForward && done.answer->end_to_end ? &*done.answer->end_to_end
                                                                            : nullptr;
      },
      [](auto& forward) {
        forward.put(
            "e2e_speedup", [](const study::KernelEndToEnd& whole) { return whole; },
            "Speedup of the whole model",
            [](auto& whole) {
              whole.put("mean", &study::KernelEndToEnd::mean, "By visited tiles");
              whole.put("worst", &study::KernelEndToEnd::worst, "By the tile that visits most");
            });
      });
}

/// `hopper-fna runs some head dims only (dim 80; accepted: 32, 64, 128, 256)`
inline std::string reason_of(const PassedOverBackend& each) {
  return each.refusal.rule + " (" + each.refusal.parameter + " " + each.refusal.value +
         "; accepted: " + each.refusal.accepted + ")";
}

/// The kernels of a pass; none where NATTEN has no such call, or refuses it.
inline std::optional<KernelDone> done_in(const study::KernelAnswer& answer, Walk walk) {
  const std::optional<study::KernelPass>& pass = walk == Walk::kForward ? answer.forward : answer.backward;
  return pass ? std::optional(KernelDone{&answer, &*pass}) : std::nullopt;
}
inline constexpr const char* kKernelMeaning =
    "What NATTEN's kernel does; null: NATTEN has no such call, or refuses it";

/// Of the forward pass; the backward pass has `kernel` alone.
template <typename Members>
void describe(Members& m, Of<study::KernelAnswer>) {
  using A = study::KernelAnswer;
  m.put(
      "kernel", [](const A& answer) { return done_in(answer, Walk::kForward); }, kKernelMeaning);
  m.when([](const A& answer) { return !answer.passed_over.empty(); },
         [](auto& some) {
           some.put(
               "passed_over",
               [](const A& answer) {
                 std::vector<std::string> reasons;
                 for (const PassedOverBackend& each : answer.passed_over) reasons.push_back(reason_of(each));
                 return reasons;
               },
               "Backends that NATTEN tries before, and why it left them");
         });
  m.optional("kernel_refusal", &A::refusal, "Why NATTEN refuses the call");
}

}  // namespace natten_sim::report
