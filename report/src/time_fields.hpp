#pragma once

#include <optional>
#include <variant>

#include <natten_sim/study/time.hpp>

namespace natten_sim::report {

// The fields of a predicted time, for either sink of json_sink.hpp.

template <typename T, typename Sink>
void put_or_null(const char* key, const std::optional<T>& value, Sink& sink) {
  if (value) {
    sink.put(key, *value);
  } else {
    sink.null(key);
  }
}

template <typename Sink>
void write_evidence(const CostEvidence& evidence, Sink& sink) {
  std::optional<double> mean, worst;
  if (evidence.left_out) mean = evidence.left_out->mean, worst = evidence.left_out->worst;
  sink.put("evidence", to_string(evidence.origin));
  if (!evidence.transfer.empty()) {
    sink.put("transfer", evidence.transfer);
    sink.put("left_out_cells", evidence.points);
  }
  sink.put("runs", evidence.runs);
  sink.put("kinds", evidence.kinds);
  put_or_null("left_out_mean_error", mean, sink);
  put_or_null("left_out_worst_error", worst, sink);
  sink.put("interval", evidence.interval);
  if (evidence.judged) {
    sink.put("judged_launches", evidence.judged->points);
    sink.put("judged_inside", evidence.judged->inside);
  }
  sink.put("source", evidence.source);
}

template <typename Sink>
void write_time_details(const study::PassTime& time, Sink& sink) {
  sink.put("ctas", time.ctas);
  sink.put("waves", time.waves);
  sink.put("tflops_per_s", time.tflops_per_s);
  sink.object("parts_ms", [&](Sink& fields) {
    const LaunchTime& parts = time.parts;
    fields.put("tiles", parts.tiles_ms);
    fields.put("masking", parts.masking_ms);
    fields.put("prologue", parts.prologue_ms);
    fields.put("tail", parts.tail_ms);
    fields.put("launch", parts.launch_ms);
    fields.put("power", parts.slowdown_ms);
  });
  if (time.dense_kernel.empty()) {
    sink.null("dense_kernel");
  } else {
    sink.put("dense_kernel", time.dense_kernel);
  }
  put_or_null("dense_ms", time.dense_ms, sink);
  if (time.dense_masked) sink.put("dense_masked", true);
  if (time.dense_unordered) sink.put("dense_unordered", true);
  put_or_null("speedup_kernel", time.speedup_kernel, sink);
  if (const std::optional<study::CopyEvidence>& copies = time.copies) {
    sink.object("copies", [&](Sink& fields) {
      fields.put("natten", copies->natten);
      fields.put("origin", to_string(copies->origin));
      fields.put("interval", copies->interval);
      fields.put("source", copies->source);
    });
  }
  if (!time.mask_function.empty()) {
    sink.put("mask_function", time.mask_function);
    sink.put("mask_instructions", time.mask_instructions);
  }
  if (!time.unmeasured.empty()) sink.put("unmeasured", time.unmeasured);
  sink.object("costs", [&](Sink& fields) { write_evidence(time.evidence, fields); });
}

/// Times come with a device or a kernel only.
template <typename Sink>
void write_time(const std::optional<study::TimeAnswer>& answer, Sink& sink) {
  if (!answer) return;
  if (const auto* missing = std::get_if<study::MissingTime>(&*answer)) {
    sink.null("time_ms");
    sink.null("speedup_time");
    sink.put("time_missing", missing->sentence);
    return;
  }
  const auto& time = std::get<study::PassTime>(*answer);
  sink.object("time_ms", [&](Sink& fields) {
    fields.put("kernel", time.kernel_ms);
    put_or_null("permutation", time.permutation_ms, fields);
    if (time.repetition_ms != 0.0) put_or_null("repetition", time.repetition_ms, fields);
    fields.put("total", time.total_ms);
    fields.put("low", time.low_ms);
    fields.put("high", time.high_ms);
    if (time.back_to_back_ms) fields.put("back_to_back", *time.back_to_back_ms);
    fields.put("limited_by", time.limited_by);
  });
  put_or_null("speedup_time", time.speedup, sink);
  sink.object("time", [&](Sink& fields) { write_time_details(time, fields); });
}

}  // namespace natten_sim::report
