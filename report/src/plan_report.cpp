#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/plan_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

/// Names of a value with its bounds, and what it is.
struct BoundedNames {
  const char* value;
  const char* low;
  const char* high;
  const char* meaning;
};

template <typename Members, typename Get>
void put_bounded(Members& m, const BoundedNames& names, const Get& get) {
  m.put(names.value, path(get, &Bounded::value), names.meaning);
  m.put(names.low, path(get, &Bounded::low), "Lower bound of it");
  m.put(names.high, path(get, &Bounded::high), "Upper bound of it");
}

std::array<std::int64_t, 2> ends_of(const TokenRange& range) { return {range.begin, range.end}; }

/// `2.50 ms (2.25 .. 2.75)`, `80.1 s (70 .. 90)`.
std::string time_range(const Bounded& ms) {
  const bool seconds = ms.value >= 1000;
  const double unit = seconds ? 1000 : 1;
  return fmt::format("{} {} ({} .. {})", short_text(ms.value / unit), seconds ? "s" : "ms", short_text(ms.low / unit),
                     short_text(ms.high / unit));
}

std::string gigabytes(std::int64_t bytes) { return short_text(1e-9 * static_cast<double>(bytes)) + " GB"; }

std::string model_text(const study::PlanAnswer& answer) {
  const study::PlanQuestion& asked = answer.question;
  const std::string preset = answer.preset ? preset_line(*answer.preset, asked.setting.input) : "";
  std::string text;
  const bool trains = asked.use == study::AdviseUse::kTraining;
  text += fmt::format("{} over {}, head dim {}, batch {}; {}", counted(*asked.setting.heads, "head"),
                      to_string(asked.setting.input), *asked.setting.head_dim, asked.setting.batch,
                      counted(*asked.layers, "layer"));
  if (trains) {
    text += fmt::format("; training, {} an epoch", counted(asked.samples, "sample"));
  } else {
    text += fmt::format(", {} a step, {} ({} dense), {}",
                        *asked.passes == 1 ? "1 pass" : fmt::format("{} passes", *asked.passes),
                        counted(answer.steps, "step"), answer.dense_steps, counted(asked.samples, "sample"));
  }
  text += fmt::format("; {} {}", asked.gpus, *asked.setting.device);
  if (asked.gpus > 1)
    text += asked.split == study::GpuSplit::kHeads
                ? std::string(", heads split")
                : fmt::format(", axis {} split ({})", answer.split_axis, to_string(asked.split));
  return preset + wrapped_text(text);
}

std::string table_text(const study::PlanAnswer& answer) {
  const study::PlanCase* cases[] = {&answer.dense, &answer.sparse};
  std::vector<std::vector<std::string>> rows = {{"", "dense", "sparse"}};
  const auto add = [&](const std::string& title, auto cell) {
    rows.push_back({title});
    for (const study::PlanCase* each : cases) rows.back().push_back(cell(*each));
  };
  using Case = study::PlanCase;
  add("attention, a layer", [](const Case& each) { return time_range(each.attention_ms); });
  if (answer.question.gpus > 1) {
    add("communication, a layer", [](const Case& each) { return time_range(each.communication_ms); });
    add("  received by a GPU", [](const Case& each) { return gigabytes(each.communication_bytes); });
  }
  add("all else, a pass", [](const Case& each) { return each.rest_ms ? time_range(*each.rest_ms) : "not known"; });
  add("a step", [](const Case& each) { return time_range(each.step_ms); });
  add(answer.question.use == study::AdviseUse::kTraining ? "an epoch" : "all samples",
      [](const Case& each) {
        return time_range({1e3 * each.seconds.value, 1e3 * each.seconds.low, 1e3 * each.seconds.high});
      });
  if (answer.question.dollars_per_hour)
    add("dollars", [](const Case& each) {
      return fmt::format("{} ({} .. {})", short_text(each.dollars->value), short_text(each.dollars->low),
                         short_text(each.dollars->high));
    });
  add("memory, a GPU", [](const Case& each) { return gigabytes(each.memory.total()); });
  if (answer.sparse.memory.optimizer)
    add("  weights and training", [](const Case& each) {
      return gigabytes(*each.memory.weights + *each.memory.gradients + *each.memory.optimizer);
    });
  return text_table(rows);
}

std::string rest_text(const study::PlanAnswer& answer) {
  switch (answer.rest) {
    case study::RestBasis::kShare:
      return fmt::format("all else: by attention's share of dense steps, {:.1f}%, as if it were the same here.\n",
                         100 * *answer.question.setting.attention_share);
    case study::RestBasis::kFlops:
      return fmt::format("all else: {:.3g} FLOPs a pass, at the least and most that models with a known share take.\n",
                         *answer.rest_flops);
    case study::RestBasis::kUnknown:
      break;
  }
  return "all else: not known (--attention-share or --rest-flops), so steps are attention alone.\n";
}

std::string notes_text(const study::PlanAnswer& answer) {
  const study::CountedTiles& sparse = answer.sparse.attention.forward;
  const study::PlanQuestion& asked = answer.question;
  std::string text = fmt::format("sparse: window {}, stride {}, Q tile {}, KV tile {}.\n", to_string(asked.window),
                                 to_string(asked.stride), to_string(sparse.problem.tiles.q_tile),
                                 to_string(sparse.problem.tiles.kv_tile));
  text += rest_text(answer);
  if (answer.link)
    text += fmt::format(
        "communication: over {:.0f} GB/s in each direction, of which transfers reach {:.0f}% to {:.0f}%.\n",
        1e-9 * answer.link->bytes_per_s, 100 * answer.link->least_share, 100 * answer.link->most_share);
  text += "memory: ";
  text += asked.use == study::AdviseUse::kTraining ? "Q, K, V and O of all layers" : "Q, K, V and O of one layer";
  text += ", copies, what is received";
  const study::PlanMemory& memory = answer.sparse.memory;
  const char* const weights = asked.parameters ? "the weights" : "the layers' weights";
  if (memory.optimizer) {
    text += fmt::format(", {}, gradients and {} bytes of optimizer state each", weights, asked.optimizer_bytes);
  } else {
    text += memory.weights ? std::string(", and ") + weights : "; no weights (--parameters)";
  }
  text += "; exact counts.\n";
  return text + fmt::format("sparse is {:.2f}x as fast as dense, all steps together.\n", answer.speedup);
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<study::PlanMemory>) {
  using M = study::PlanMemory;
  m.put("tensors_bytes", &M::tensors, "Q, K, V and O of one layer, in training of all");
  m.put("copies_bytes", &M::copies, "Copies of them in tiles, of one layer");
  m.put("received_bytes", &M::received, "K and V of other GPUs, of one layer");
  m.put("weights_bytes", &M::weights, "The model's parameters; null: their number is not known");
  m.put("gradients_bytes", &M::gradients, "Gradients of the parameters; null outside training");
  m.put("optimizer_bytes", &M::optimizer, "State of the optimizer; null outside training");
  m.put("total_bytes", &M::total, "All of these");
}

template <typename Members>
void describe(Members& m, Of<study::PlanCase>) {
  using C = study::PlanCase;
  m.put(
      "layout", [](const C& c) { return input_of(c.attention.forward.problem.mask); },
      "Tokens per axis on the busiest GPU");
  m.put(
      "heads", [](const C& c) { return *c.attention.question.setting.heads; }, "Heads on the busiest GPU");
  m.put("kernel", [](const C& c) { return c.attention.question.kernel.value_or("").name; });
  put_bounded(m,
              {"attention_ms", "attention_low_ms", "attention_high_ms",
               "Attention of a layer, all passes that are asked for"},
              &C::attention_ms);
  m.put("communication_bytes", &C::communication_bytes, "What the busiest GPU receives in a layer");
  put_bounded(
      m, {"communication_ms", "communication_low_ms", "communication_high_ms", "Communication of a layer"},
      &C::communication_ms);
  put_bounded(m, {"rest_ms", "rest_low_ms", "rest_high_ms", "All but attention, a pass; null: not known"},
              &C::rest_ms);
  put_bounded(m, {"step_ms", "step_low_ms", "step_high_ms", "A step, all layers and passes"}, &C::step_ms);
  put_bounded(m, {"run_s", "run_low_s", "run_high_s", "All steps and samples"}, &C::seconds);
  put_bounded(
      m,
      {"cost_dollars", "cost_low_dollars", "cost_high_dollars", "Price of the run; null: no price was given"},
      &C::dollars);
  m.put("memory", &C::memory, "Bytes on the busiest GPU");
}

template <typename Members>
void describe(Members& m, Of<AxisSlab>) {
  m.put(
      "tokens", [](const AxisSlab& slab) { return ends_of(slab.own); },
      "First token of the GPU's own, and the one after its last");
  m.put(
      "attended", [](const AxisSlab& slab) { return ends_of(slab.attended); }, "The tokens that it needs");
  m.put(
      "computed", [](const AxisSlab& slab) { return ends_of(slab.computed); },
      "The tokens that it computes with");
}

template <typename Members>
void describe(Members& m, Of<study::PlanAnswer>) {
  using A = study::PlanAnswer;
  m.put("speedup", &A::speedup, "Time of the dense run over that of the sparse one");
  m.put("window", path(&A::question, &study::PlanQuestion::window));
  m.put("stride", path(&A::question, &study::PlanQuestion::stride));
  m.put("tiles", path(&A::sparse, &study::PlanCase::attention), "Tiles of the sparse plan", [](auto& tiles) {
    using C = study::CountAnswer;
    const auto of = [](auto member) {
      return path(&C::forward, &study::CountedTiles::problem, &TilingProblem::tiles, member);
    };
    const auto of_backward = [](auto member) {
      return [member](const C& count) {
        return count.backward ? &(count.backward->problem.tiles.*member) : nullptr;
      };
    };
    tiles.put("q_tile", of(&TilePair::q_tile));
    tiles.put("kv_tile", of(&TilePair::kv_tile));
    tiles.put("backward_q_tile", of_backward(&TilePair::q_tile),
              "Q tile of the backward pass; null without one");
    tiles.put("backward_kv_tile", of_backward(&TilePair::kv_tile),
              "KV tile of the backward pass; null without one");
  });
  m.put("steps", &A::steps, "Steps of a run");
  m.put("dense_steps", &A::dense_steps, "Steps that stay dense in the sparse plan");
  m.put("rest", &A::rest, "What the time outside attention is known by");
  m.put("rest_flops", &A::rest_flops,
        "FLOPs outside attention, a pass; null: taken by the share, or not known");
  m.put("link_bytes_per_s", path(&A::link, &Link::bytes_per_s),
        "Rate of the links between GPUs in each direction; null with one GPU");
  m.put(
      "split", [](const A& answer) { return answer.slabs.empty() ? nullptr : &answer; },
      "How an axis is split among the GPUs; null: heads are split, or one GPU",
      [](auto& split) {
        split.put("axis", &A::split_axis, "The axis that is split, from 0");
        split.put("slabs", &A::slabs, "Tokens of each GPU on that axis");
      });
  m.put("dense", &A::dense, "The model with dense attention");
  m.put("sparse", &A::sparse, "The model with the window");
}

Json plan_result(const study::PlanAnswer& answer) { return json_of(answer); }

Json plan_schema() { return schema_of<study::PlanAnswer>(); }

Rows plan_rows(const study::PlanAnswer& answer) {
  std::vector<Json> rows;
  for (const auto& [name, plan] : {std::pair{"dense", &answer.dense}, {"sparse", &answer.sparse}}) {
    Json row = {{"attention", name}, {"device", *answer.question.setting.device}, {"gpus", answer.question.gpus}};
    row.update(flattened(json_of(*plan)));
    rows.push_back(row);
  }
  return {rows.front(), rows, {"attention", "attention_ms", "communication_ms", "rest_ms", "step_ms", "run_s", "cost_dollars", "memory_total_bytes"}};
}

std::string plan_text(const study::PlanAnswer& answer) {
  return model_text(answer) + table_text(answer) + "\n" + notes_text(answer);
}

}  // namespace natten_sim::report
