#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/report/window_recall.hpp>
#include <natten_sim/study/training_price.hpp>

namespace natten_sim::report {
namespace {

const study::PassTime& forward_time(const study::AdviceChoice& choice) {
  return std::get<study::PassTime>(*choice.count.time);
}

/// None: not asked for, or no backward time is calibrated.
const study::PassTime* backward_time(const study::AdviceChoice& choice) {
  const auto& backward = choice.count.backward;
  return backward && backward->time ? std::get_if<study::PassTime>(&*backward->time) : nullptr;
}

/// The last line of what --emit prints, without a comment; why not, when NATTEN refuses the call.
std::string emitted_line(EmitKind kind, const study::AdviceChoice& choice, const study::Context& context) {
  const study::CountAnswer& count = choice.count;
  study::Setting setting = count.question.setting;
  try {
    std::string text = emitted(kind, setting, count.forward.problem,
                               count.backward ? &count.backward->problem : nullptr, context);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
  } catch (const InvalidParameter& error) {
    return std::string("# ") + error.what();
  }
}

/// Cyclic axes run by FlexAttention: Python that makes its BlockMask and copies tokens into its blocks.
std::string flex_plan(const study::AdviceChoice& choice) {
  const TilingProblem& problem = choice.count.forward.problem;
  return fmt::format("natten_sim.flex.plan(input={}, window={}, stride={}, cyclic={}, q_tile={}, kv_tile={})",
                     python_tuple(input_of(problem.mask)), python_tuple(window_of(problem.mask)),
                     python_tuple(stride_of(problem.mask)), python_tuple(cyclic_of(problem.mask)),
                     python_tuple(problem.tiles.q_tile), python_tuple(problem.tiles.kv_tile));
}

/// All that --emit prints; why not, when NATTEN refuses the call.
std::string whole_emitted(EmitKind kind, const study::AdviceChoice& choice, const study::Context& context) {
  try {
    return emitted(kind, choice.count, context);
  } catch (const InvalidParameter& error) {
    return std::string("# ") + error.what() + "\n";
  }
}

/// What runs a choice with cyclic axes: FlexAttention by itself, or NATTEN on the padded layout.
void add_ways_around(const study::AdviceChoice& choice, const study::Context& context, Json& fields) {
  fields["flex_plan"] = flex_plan(choice);
  fields["padded"] = count_result(choice.count).at("padded");
  if (choice.count.cycle_copies) fields["blocks_ms"] = choice.count.cycle_copies->blocks_ms;
  fields["natten_call"] = whole_emitted(EmitKind::kNatten, choice, context);
  fields["natten_profiler"] = whole_emitted(EmitKind::kNattenProfiler, choice, context);
}

/// The fastest of both passes.
Json price_tiles_json(const study::DeterministicPrice& price) {
  return {{"q_tile", to_json(price.tiles.q_tile)},
          {"kv_tile", to_json(price.tiles.kv_tile)},
          {"backward_q_tile", to_json(price.backward_tiles.q_tile)},
          {"backward_kv_tile", to_json(price.backward_tiles.kv_tile)}};
}

Json choice_json(const study::AdviceChoice& choice, const study::Context& context) {
  const study::CountedTiles& counted = choice.count.forward;
  Json fields;
  fields["role"] = to_string(choice.role);
  fields["window"] = to_json(window_of(counted.problem.mask));
  fields["stride"] = to_json(stride_of(counted.problem.mask));
  fields["q_tile"] = to_json(counted.problem.tiles.q_tile);
  fields["kv_tile"] = to_json(counted.problem.tiles.kv_tile);
  fields["sparsity"] = counted.count.sparsity();
  fields["wasted_flop_share"] = counted.count.wasted_share();
  fields["speedup_mean"] = counted.count.speedup_mean();
  fields["total_ms"] = choice.total_ms;
  fields["speedup"] = nullable(choice.speedup);
  add_time_fields(choice.count.time, fields);
  const std::optional<study::EndToEndGain>& whole = choice.end_to_end;
  fields["e2e_speedup_time"] = whole ? Json(whole->speedup.value) : Json();
  fields["e2e_speedup_time_low"] = whole ? Json(whole->speedup.low) : Json();
  fields["e2e_speedup_time_high"] = whole ? Json(whole->speedup.high) : Json();
  fields["e2e_estimated"] = whole ? Json(whole->estimated) : Json();
  fields["tile_memory_bytes"] = choice.tile_memory_bytes;
  fields["backward"] = Json();
  if (choice.count.backward) {
    fields["backward"] = Json::object();
    fields["backward"]["q_tile"] = to_json(choice.count.backward->problem.tiles.q_tile);
    fields["backward"]["kv_tile"] = to_json(choice.count.backward->problem.tiles.kv_tile);
    add_time_fields(choice.count.backward->time, fields["backward"]);
    const std::optional<study::DeterministicPrice> price = study::deterministic_price(choice.count, context);
    fields["backward"]["deterministic_ms"] = price ? Json(price->total_ms) : Json();
    fields["backward"]["deterministic_low_ms"] = price ? Json(price->low_ms) : Json();
    fields["backward"]["deterministic_high_ms"] = price ? Json(price->high_ms) : Json();
    fields["backward"]["deterministic_tiles"] = price ? price_tiles_json(*price) : Json();
  }
  if (choice.count.padded) {
    add_ways_around(choice, context, fields);
    return fields;
  }
  fields["natten_call"] = emitted_line(EmitKind::kNatten, choice, context);
  fields["natten_profiler"] = emitted_line(EmitKind::kNattenProfiler, choice, context);
  return fields;
}

std::string memory_text(std::int64_t bytes) {
  return fmt::format("{:.3g} GB", 1e-9 * static_cast<double>(bytes));
}

/// An estimate has its bounds.
std::string whole_gain_text(const study::EndToEndGain& gain) {
  const Bounded& speedup = gain.speedup;
  return gain.estimated ? fmt::format("about {:.2f}x ({:.2f} .. {:.2f})", speedup.value, speedup.low, speedup.high)
                        : fmt::format("{:.2f}x", speedup.value);
}

std::vector<std::string> choice_row(const study::AdviceChoice& choice) {
  const study::CountedTiles& counted = choice.count.forward;
  const study::PassTime& time = forward_time(choice);
  const study::PassTime* backward = backward_time(choice);
  return {to_string(choice.role),
          to_string(window_of(counted.problem.mask)),
          to_string(stride_of(counted.problem.mask)),
          to_string(counted.problem.tiles.q_tile) + "/" + to_string(counted.problem.tiles.kv_tile),
          fmt::format("{:.1f}%", 100 * counted.count.sparsity()),
          fmt::format("{} +-{:.0f}%", duration_text(time.total_ms), 100 * (time.high_ms / time.total_ms - 1)),
          backward != nullptr ? duration_text(backward->total_ms) : "",
          choice.speedup ? fmt::format("{:.2f}x", *choice.speedup) : "",
          choice.end_to_end ? whole_gain_text(*choice.end_to_end) : "",
          memory_text(choice.tile_memory_bytes)};
}

/// All devices in one table, those with advice.
std::string choices_table(const study::AdviseAnswer& answer) {
  const bool alone = answer.devices.size() == 1;
  std::vector<std::vector<std::string>> rows = {{"", "window", "stride", "tiles Q/KV", "sparsity", "forward",
                                                 "backward", "speedup", "end to end", "memory"}};
  if (!alone) rows.front().insert(rows.front().begin(), "device");
  for (const study::DeviceAdvice& advice : answer.devices) {
    for (const study::AdviceChoice& choice : advice.choices) {
      rows.push_back(choice_row(choice));
      if (!alone) rows.back().insert(rows.back().begin(), advice.device);
    }
  }
  return rows.size() > 1 ? text_table(rows) : "";
}

/// What the same gradients in every run cost; empty without a backward pass, or where it is deterministic anyway.
std::string price_text(const study::AdviceChoice& choice, const study::Context& context) {
  if (!choice.count.backward) return "";
  const std::optional<study::DeterministicPrice> price = study::deterministic_price(choice.count, context);
  if (!price) return "";
  const auto pair = [](const TilePair& tiles) { return to_string(tiles.q_tile) + "/" + to_string(tiles.kv_tile); };
  return fmt::format("deterministic gradients: NATTEN's kernel here has none; {} with its fastest tiles, {} and backward "
                     "{}, takes {} ({} .. {}), {:.2f} times as long\n",
                     price->backend, pair(price->tiles), pair(price->backward_tiles), duration_text(price->total_ms),
                     duration_text(price->low_ms), duration_text(price->high_ms), price->total_ms / choice.total_ms);
}

/// The fastest choice by NATTEN, which has no cyclic axes.
std::string around_text(const study::AdviceChoice& choice, bool alone, const study::Context& context) {
  if (!alone) return padded_text(choice.count);
  return padded_text(choice.count) + whole_emitted(EmitKind::kNatten, choice, context) +
         "check it: " + whole_emitted(EmitKind::kNattenProfiler, choice, context);
}

/// What the device's choices are held against and made of: the dense time, calls, and how to check one.
std::string device_text(const study::DeviceAdvice& advice, bool alone, const study::Context& context) {
  if (!advice.missing.empty()) return advice.device + ": " + advice.missing + "\n";
  const study::PassTime& first = forward_time(advice.choices.front());
  std::string text = advice.device + ":";
  const study::PassTime* backward = backward_time(advice.choices.front());
  if (first.dense_ms)
    text += fmt::format(" dense ({}) takes {}", dense_text(first), duration_text(*first.dense_ms));
  if (first.dense_ms && backward != nullptr && backward->dense_ms)
    text += fmt::format(" forward, {} backward ({})", duration_text(*backward->dense_ms), dense_text(*backward));
  text += "\n";
  const bool cyclic = advice.choices.front().count.padded != nullptr;
  for (const study::AdviceChoice& choice : advice.choices) {
    text += fmt::format("{}: {}\n", to_string(choice.role),
                        cyclic ? flex_plan(choice) : emitted_line(EmitKind::kNatten, choice, context));
    if (!alone) break;  // the fastest alone, so that several devices fit a screen
  }
  if (cyclic) return text + around_text(advice.choices.front(), alone, context);
  text += price_text(advice.choices.front(), context);
  return text + "check it: " + emitted_line(EmitKind::kNattenProfiler, advice.choices.front(), context) +
         "\n";
}

/// What the choices keep of a model's attention; empty where nobody asked.
std::string recalls_of_choices(const study::DeviceAdvice& advice, const study::AdviseQuestion& question) {
  if (!advice.recalls) return "";
  std::vector<NeighborhoodMask> masks;
  for (const study::AdviceChoice& each : advice.choices) masks.push_back(each.count.forward.problem.mask);
  return "\n" + advice.device + ": " + recalls_text(masks, *advice.recalls, *question.recall.table);
}

/// What the end to end column rests on; empty: nobody has one.
std::string end_to_end_legend(const study::AdviseAnswer& answer) {
  const study::AdviceChoice* with_gain = nullptr;
  for (const study::DeviceAdvice& advice : answer.devices) {
    if (!advice.choices.empty() && advice.choices.front().end_to_end) with_gain = &advice.choices.front();
  }
  if (with_gain == nullptr) return "";
  const study::Setting& setting = answer.question.setting;
  const bool trains = answer.question.use == study::AdviseUse::kTraining;
  std::string text = "end to end: attention alone gets faster";
  const std::optional<Preset>& preset = with_gain->count.preset;
  study::StepRatio steps = setting.dense_steps.value_or(study::StepRatio{});
  if (!setting.dense_steps && preset) steps = {preset->dense_steps.value_or(0), preset->steps.value_or(1)};
  if (!trains) text += fmt::format(", in {} of {} steps (--dense-steps)", steps.whole - steps.part, steps.whole);
  if (trains) text += fmt::format("; all else takes {:.0f} times what it does in inference", study::kTrainingRest);
  if (!setting.attention_share)
    text += with_gain->end_to_end->estimated ? "; attention's share of the model is estimated by FLOPs (list presets)" : "";
  return text + (with_gain->end_to_end->estimated ? "; bounds are those of the share and of the times.\n" : ".\n");
}

/// How to read the table.
std::string legend_of(const study::AdviseAnswer& answer) {
  const bool sketched = std::any_of(answer.devices.begin(), answer.devices.end(),
                                    [](const study::DeviceAdvice& advice) { return advice.sketched; });
  const bool cyclic = study::asks_cycle(answer.question.cyclic);  // FlexAttention copies nothing, its callers do
  std::string text = fmt::format(
      "Times are of one call, one attention of one layer: the kernel {} its copies into tiles.\n"
      "No {} attends to as many pairs in less time.\n"
      "memory: of the copies, on top of the tensors.\n",
      cyclic ? "without" : "and",
      !answer.question.window.empty() ? "stride or tile shape of this window"
      : sketched                      ? "window and stride that tiles divide within the imbalance"
                                      : "configuration within the imbalance");
  return text + end_to_end_legend(answer);
}

/// Which preset was meant: its name may have been given by its beginning. Empty without one.
std::string model_line(const study::AdviseAnswer& answer) {
  for (const study::DeviceAdvice& advice : answer.devices) {
    if (advice.choices.empty()) continue;
    const study::CountAnswer& count = advice.choices.front().count;
    if (count.preset) return preset_line(*count.preset, input_of(count.forward.problem.mask)) + "\n";
  }
  return "";
}

}  // namespace

Json advise_result(const study::AdviseAnswer& answer, const study::Context& context) {
  Json devices = Json::array();
  for (const study::DeviceAdvice& advice : answer.devices) {
    Json fields = {{"device", advice.device}};
    if (!advice.missing.empty()) fields["missing"] = advice.missing;
    fields["sketched"] = advice.sketched;
    fields["choices"] = Json::array();
    for (const study::AdviceChoice& choice : advice.choices)
      fields["choices"].push_back(choice_json(choice, context));
    if (advice.recalls) fields["recall"] = recalls_result(*advice.recalls, *answer.question.recall.table);
    if (advice.heads) fields["recall"] = recall_choice_result(*advice.heads, context);
    devices.push_back(fields);
  }
  return {{"devices", devices}};
}

Rows advise_rows(const study::AdviseAnswer& answer, const study::Context& context) {
  std::vector<Json> rows;
  for (const study::DeviceAdvice& advice : answer.devices) {
    for (const study::AdviceChoice& choice : advice.choices) {
      Json row = {{"device", advice.device}};
      row.update(flattened(choice_json(choice, context)));
      rows.push_back(row);
    }
  }
  return {rows.empty() ? Json{{"device", nullptr}, {"role", nullptr}} : rows.front(), rows, {"device", "role", "window", "stride", "sparsity", "total_ms", "speedup"}};
}

std::string advise_text(const study::AdviseAnswer& answer, const study::Context& context) {
  std::string heads;
  for (const study::DeviceAdvice& advice : answer.devices) {
    if (advice.heads)
      heads += (heads.empty() ? "" : "\n") + advice.device + ": " + recall_choice_text(*advice.heads, context);
  }
  if (!heads.empty()) return heads;
  const std::string table = choices_table(answer);
  std::string text = model_line(answer) + table;
  for (const study::DeviceAdvice& advice : answer.devices) {
    text += (text.empty() ? "" : "\n") + device_text(advice, answer.devices.size() == 1, context);
  }
  if (table.empty()) return text;
  text += "\n" + legend_of(answer);
  for (const study::DeviceAdvice& advice : answer.devices) text += recalls_of_choices(advice, answer.question);
  return text;
}

}  // namespace natten_sim::report
