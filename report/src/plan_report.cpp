#include <natten_sim/report/plan_report.hpp>

#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

void add_bounded(const std::string& name, const std::string& unit, const std::optional<Bounded>& value, Json& fields) {
  fields[name + unit] = value ? Json(value->value) : Json();
  fields[name + "_low" + unit] = value ? Json(value->low) : Json();
  fields[name + "_high" + unit] = value ? Json(value->high) : Json();
}

Json memory_json(const study::PlanMemory& memory) {
  return {{"tensors_bytes", memory.tensors},
          {"copies_bytes", memory.copies},
          {"received_bytes", memory.received},
          {"weights_bytes", nullable(memory.weights)},
          {"gradients_bytes", nullable(memory.gradients)},
          {"optimizer_bytes", nullable(memory.optimizer)},
          {"total_bytes", memory.total()}};
}

Json case_json(const study::PlanCase& plan) {
  Json fields;
  const NeighborhoodMask& mask = plan.attention.forward.problem.mask;
  fields["layout"] = to_json(input_of(mask));
  fields["heads"] = *plan.attention.question.setting.heads;
  fields["kernel"] = plan.attention.question.kernel.value_or("").name;
  add_bounded("attention", "_ms", plan.attention_ms, fields);
  fields["communication_bytes"] = plan.communication_bytes;
  add_bounded("communication", "_ms", plan.communication_ms, fields);
  add_bounded("rest", "_ms", plan.rest_ms, fields);
  add_bounded("step", "_ms", plan.step_ms, fields);
  add_bounded("run", "_s", plan.seconds, fields);
  add_bounded("cost", "_dollars", plan.dollars, fields);
  fields["memory"] = memory_json(plan.memory);
  return fields;
}

Json slabs_json(const study::PlanAnswer& answer) {
  if (answer.slabs.empty()) return {};
  Json slabs = Json::array();
  for (const AxisSlab& slab : answer.slabs)
    slabs.push_back({{"tokens", {slab.own.begin, slab.own.end}},
                     {"attended", {slab.attended.begin, slab.attended.end}},
                     {"computed", {slab.computed.begin, slab.computed.end}}});
  return {{"axis", answer.split_axis}, {"slabs", slabs}};
}

Json tiles_json(const study::CountAnswer& count) {
  Json tiles = {{"q_tile", to_json(count.forward.problem.tiles.q_tile)},
                {"kv_tile", to_json(count.forward.problem.tiles.kv_tile)},
                {"backward_q_tile", Json()},
                {"backward_kv_tile", Json()}};
  if (count.backward) {
    tiles["backward_q_tile"] = to_json(count.backward->problem.tiles.q_tile);
    tiles["backward_kv_tile"] = to_json(count.backward->problem.tiles.kv_tile);
  }
  return tiles;
}

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

Json plan_result(const study::PlanAnswer& answer) {
  Json fields;
  fields["speedup"] = answer.speedup;
  fields["window"] = to_json(answer.question.window);
  fields["stride"] = to_json(answer.question.stride);
  fields["tiles"] = tiles_json(answer.sparse.attention);
  fields["steps"] = answer.steps;
  fields["dense_steps"] = answer.dense_steps;
  fields["rest"] = to_string(answer.rest);
  fields["rest_flops"] = nullable(answer.rest_flops);
  fields["link_bytes_per_s"] = answer.link ? Json(answer.link->bytes_per_s) : Json();
  fields["split"] = slabs_json(answer);
  fields["dense"] = case_json(answer.dense);
  fields["sparse"] = case_json(answer.sparse);
  return fields;
}

Rows plan_rows(const study::PlanAnswer& answer) {
  std::vector<Json> rows;
  for (const auto& [name, plan] : {std::pair{"dense", &answer.dense}, {"sparse", &answer.sparse}}) {
    Json row = {{"attention", name}, {"device", *answer.question.setting.device}, {"gpus", answer.question.gpus}};
    row.update(flattened(case_json(*plan)));
    rows.push_back(row);
  }
  return {rows.front(), rows, {"attention", "attention_ms", "communication_ms", "rest_ms", "step_ms", "run_s", "cost_dollars", "memory_total_bytes"}};
}

std::string plan_text(const study::PlanAnswer& answer) {
  return model_text(answer) + table_text(answer) + "\n" + notes_text(answer);
}

}  // namespace natten_sim::report
