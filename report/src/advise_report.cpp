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

#include "count_members.hpp"
#include "recall_members.hpp"

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

/// A choice of an answer.
struct AdvisedChoice {
  const study::AdviceChoice* choice;
  const study::Context* context;
};

/// What runs a choice; around cyclic axes NATTEN on the padded layout.
std::string call_of(EmitKind kind, const AdvisedChoice& each) {
  return each.choice->count.padded ? whole_emitted(kind, *each.choice, *each.context)
                                   : emitted_line(kind, *each.choice, *each.context);
}

/// The backward pass of a choice with gradients in a fixed order.
struct DeterministicChoice {
  const study::BackwardCount* backward;
  std::optional<study::DeterministicPrice> price;
};

std::optional<DeterministicChoice> backward_of(const AdvisedChoice& each) {
  const study::CountAnswer& count = each.choice->count;
  if (!count.backward) return std::nullopt;
  return DeterministicChoice{&*count.backward, study::deterministic_price(count, *each.context)};
}

/// The advice for one device.
struct Advised {
  const study::DeviceAdvice* advice;
  const study::AdviseAnswer* answer;
  const study::Context* context;
};

/// The advice for all devices.
struct AllAdvised {
  std::vector<Advised> devices;
};

std::vector<AdvisedChoice> choices_of(const Advised& advised) {
  std::vector<AdvisedChoice> all;
  for (const study::AdviceChoice& choice : advised.advice->choices) all.push_back({&choice, advised.context});
  return all;
}

std::optional<RecallTold> recall_of_advice(const Advised& advised) {
  const study::DeviceAdvice& advice = *advised.advice;
  if (!advice.recalls && !advice.heads) return std::nullopt;
  RecallTold told{.context = advised.context};
  if (advice.heads) {
    told.chosen = &*advice.heads;
    told.table = &*advice.heads->question.recall.table;
  } else {
    told.recalls = &*advice.recalls;
    told.table = &*advised.answer->question.recall.table;
  }
  return told;
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

template <typename Members>
void describe(Members& m, Of<DeterministicChoice>) {
  using D = DeterministicChoice;
  using P = study::DeterministicPrice;
  const auto tiles = [](auto member) {
    return path(&D::backward, &study::BackwardCount::problem, &TilingProblem::tiles, member);
  };
  m.put("q_tile", tiles(&TilePair::q_tile));
  m.put("kv_tile", tiles(&TilePair::kv_tile));
  m.include(path(&D::backward, &study::BackwardCount::time));
  m.put("deterministic_ms", path(&D::price, &P::total_ms),
        "Both passes with gradients in a fixed order; null: not known, or no more");
  m.put("deterministic_low_ms", path(&D::price, &P::low_ms), "Least time of its 90% interval");
  m.put("deterministic_high_ms", path(&D::price, &P::high_ms), "Largest time of its 90% interval");
  m.put("deterministic_tiles", &D::price, "Tiles with which each of these passes is fastest",
        [](auto& fastest) {
          fastest.put("q_tile", path(&P::tiles, &TilePair::q_tile));
          fastest.put("kv_tile", path(&P::tiles, &TilePair::kv_tile));
          fastest.put("backward_q_tile", path(&P::backward_tiles, &TilePair::q_tile),
                      "Q tile of the backward pass");
          fastest.put("backward_kv_tile", path(&P::backward_tiles, &TilePair::kv_tile),
                      "KV tile of the backward pass");
        });
}

template <typename Members>
void describe(Members& m, Of<AdvisedChoice>) {
  using A = study::AdviceChoice;
  const auto of = [](auto... members) { return path(&AdvisedChoice::choice, members...); };
  const auto forward = [=](auto... members) {
    return of(&A::count, &study::CountAnswer::forward, members...);
  };
  const auto problem = [=](auto... members) {
    return forward(&study::CountedTiles::problem, members...);
  };
  const auto count = [forward](auto member) { return forward(&study::CountedTiles::count, member); };
  const auto whole = [of](auto... members) { return of(&A::end_to_end, members...); };
  m.put("role", of(&A::role), "Why it is among the choices");
  m.put("window",
        problem(&TilingProblem::mask, [](const NeighborhoodMask& mask) { return window_of(mask); }));
  m.put("stride",
        problem(&TilingProblem::mask, [](const NeighborhoodMask& mask) { return stride_of(mask); }));
  m.put("q_tile", problem(&TilingProblem::tiles, &TilePair::q_tile));
  m.put("kv_tile", problem(&TilingProblem::tiles, &TilePair::kv_tile));
  m.put("sparsity", count(&TileCount::sparsity));
  m.put("wasted_flop_share", count(&TileCount::wasted_share));
  m.put("speedup_mean", count(&TileCount::speedup_mean));
  m.put("total_ms", of(&A::total_ms), "Predicted time of the passes asked for");
  m.put("speedup", of(&A::speedup), "Time of the dense kernel's passes over that; null: not known");
  m.include(of(&A::count, &study::CountAnswer::time));
  m.put("e2e_speedup_time", whole(&study::EndToEndGain::speedup, &Bounded::value),
        "Speedup of the whole model, by the ratio of times; null: attention's share is not known");
  m.put("e2e_speedup_time_low", whole(&study::EndToEndGain::speedup, &Bounded::low), "Lower bound of it");
  m.put("e2e_speedup_time_high", whole(&study::EndToEndGain::speedup, &Bounded::high), "Upper bound of it");
  m.put("e2e_estimated", whole(&study::EndToEndGain::estimated), "Whether attention's share is an estimate");
  m.put("tile_memory_bytes", of(&A::tile_memory_bytes), "Copies in tiles that live beside the tensors");
  m.put("backward", &backward_of, "The backward pass; null: inference was asked for");
  m.optional(
      "flex_plan",
      [](const AdvisedChoice& each) {
        return each.choice->count.padded ? std::optional(flex_plan(*each.choice)) : std::nullopt;
      },
      "Python that runs cyclic axes by FlexAttention");
  m.optional("padded", of(&A::count, [](const study::CountAnswer& answer) { return padded_in(answer); }),
             kPaddedMeaning);
  m.optional("blocks_ms", of(&A::count, &study::CountAnswer::cycle_copies, &study::CycleCopies::blocks_ms),
             kBlocksMeaning);
  m.put(
      "natten_call", [](const AdvisedChoice& each) { return call_of(EmitKind::kNatten, each); },
      "The Python call, or why NATTEN refuses it");
  m.put(
      "natten_profiler", [](const AdvisedChoice& each) { return call_of(EmitKind::kNattenProfiler, each); },
      "The command that times it, or why NATTEN refuses it");
}

template <typename Members>
void describe(Members& m, Of<Advised>) {
  using A = study::DeviceAdvice;
  const auto of = [](auto member) { return path(&Advised::advice, member); };
  m.put("device", of(&A::device));
  m.optional("missing", of(unless_empty(&A::missing)), "Why there is no advice");
  m.put("sketched", of(&A::sketched), "Whether only windows and strides that tiles divide were searched");
  m.put("choices", &choices_of, "Up to three, the fastest first");
  m.optional("recall", &recall_of_advice, "What windows keep of a model's attention");
}

template <typename Members>
void describe(Members& m, Of<AllAdvised>) {
  m.put("devices", &AllAdvised::devices, "The advice for each device");
}

Json advise_result(const study::AdviseAnswer& answer, const study::Context& context) {
  AllAdvised all;
  for (const study::DeviceAdvice& advice : answer.devices)
    all.devices.push_back({&advice, &answer, &context});
  return json_of(all);
}

Json advise_schema() { return schema_of<AllAdvised>(); }

Rows advise_rows(const study::AdviseAnswer& answer, const study::Context& context) {
  std::vector<Json> rows;
  for (const study::DeviceAdvice& advice : answer.devices) {
    for (const study::AdviceChoice& choice : advice.choices) {
      Json row = {{"device", advice.device}};
      row.update(flattened(json_of(AdvisedChoice{&choice, &context})));
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
