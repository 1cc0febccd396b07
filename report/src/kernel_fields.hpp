#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/study/kernel.hpp>

namespace natten_sim::report {

// The fields of `kernel`, for either sink of json_sink.hpp.

template <typename Sink>
void write_launch(const study::KernelLaunch& launch, Sink& sink) {
  const KernelVisits& visits = launch.visits;
  sink.put("name", study::name_of(launch));
  sink.put("q_tile", launch.tiles.q_tile);
  sink.put("kv_tile", launch.tiles.kv_tile);
  sink.put("launched_tiles", visits.launched_tiles);
  sink.put("empty_tiles", visits.empty_tiles);
  sink.put("visited_tiles", visits.visited_tiles);
  sink.put("empty_visits", visits.empty_visits);
  sink.put("masking", to_string(masking_of(visits)));
  sink.put("unmasked_tiles", visits.unmasked_tiles);
  sink.put("bounds_masked_tiles", visits.bounds_masked_tiles);
  sink.put("masked_tiles", visits.masked_tiles);
  sink.put("mma_pairs", launch.mma_pairs);
}

template <typename Sink>
void write_speedup(const char* key, const study::KernelSpeedups& speedup, Sink& sink) {
  sink.object(key, [&](Sink& fields) {
    fields.put("mean", speedup.mean);
    fields.put("worst", speedup.worst);
    fields.put("work", speedup.work);
  });
}

/// A floor of the device, or null.
template <typename Sink>
void write_floors(const study::KernelPass& pass, Sink& sink) {
  const study::KernelFloors& floors = *pass.floors;
  sink.put("permutation_ms", floors.permutation_ms);
  if (!floors.dense_ms) {
    for (const char* key : {"dense_ms", "dense_rate", "speedup_with_permutation"}) sink.null(key);
    return;
  }
  sink.put("dense_ms", *floors.dense_ms);
  sink.put("dense_rate", floors.dense_rate.c_str());
  if (pass.with_permutation) {
    write_speedup("speedup_with_permutation", *pass.with_permutation, sink);
  } else {
    sink.null("speedup_with_permutation");
  }
}

template <typename Sink>
void write_pass(const study::KernelAnswer& answer, const study::KernelPass& pass, Sink& sink) {
  write_launch(pass.attention, sink);
  sink.put("dense_path", pass.dense_path);
  if (answer.unused_backend) sink.put("instead_of", to_string(*answer.unused_backend));
  if (pass.schedule.empty()) {
    sink.null("schedule");
  } else {
    sink.put("schedule", pass.schedule.c_str());
  }
  sink.put("natten_fast_path", pass.natten_fast_path);
  if (pass.additional) {
    sink.object("additional", [&](Sink& fields) { write_launch(*pass.additional, fields); });
  } else {
    sink.null("additional");
  }
  write_speedup("speedup", pass.speedup, sink);
  if (pass.permutation) {
    sink.put("permutation_bytes", pass.permutation->bytes);
  } else {
    sink.null("permutation_bytes");
  }
  if (pass.floors) write_floors(pass, sink);
  if (pass.walk == Walk::kBackward || !answer.end_to_end) return;
  sink.object("e2e_speedup", [&](Sink& fields) {
    fields.put("mean", answer.end_to_end->mean);
    fields.put("worst", answer.end_to_end->worst);
  });
}

/// `hopper-fna runs some head dims only (dim 80; accepted: 32, 64, 128, 256)`
inline std::string reason_of(const PassedOverBackend& each) {
  return each.refusal.rule + " (" + each.refusal.parameter + " " + each.refusal.value +
         "; accepted: " + each.refusal.accepted + ")";
}

template <typename Sink>
void write_refusal(const NattenRefusal& refusal, Sink& sink) {
  sink.put("rule", refusal.rule);
  sink.put("parameter", refusal.parameter);
  sink.put("value", refusal.value);
  sink.put("accepted", refusal.accepted);
  if (!refusal.nearest.empty()) sink.put("hint", refusal.nearest);
}

/// `kernel`, null where NATTEN has no such call or refuses it, and then `kernel_refusal` with the rule;
/// `passed_over` says what kept NATTEN from the backends that it tries before.
template <typename Sink>
void write_kernel(const study::KernelAnswer& answer, Walk walk, Sink& sink) {
  const std::optional<study::KernelPass>& pass = walk == Walk::kForward ? answer.forward : answer.backward;
  if (pass) {
    sink.object("kernel", [&](Sink& fields) { write_pass(answer, *pass, fields); });
  } else {
    sink.null("kernel");
  }
  if (walk == Walk::kBackward) return;
  if (!answer.passed_over.empty()) {
    std::vector<std::string> reasons;
    for (const PassedOverBackend& each : answer.passed_over) reasons.push_back(reason_of(each));
    sink.put("passed_over", reasons);
  }
  if (answer.refusal)
    sink.object("kernel_refusal", [&](Sink& fields) { write_refusal(*answer.refusal, fields); });
}

}  // namespace natten_sim::report
