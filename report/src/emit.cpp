
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/block_mask_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/emit.hpp>

namespace natten_sim::report {
namespace {

/// The call spells out NATTEN's defaults too, so that it says exactly what runs.
NattenCall complete_call(const study::Setting& setting, const TilingProblem& forward,
                         const TilingProblem* backward, const study::Context& context, EmitKind kind) {
  std::optional<NattenCall> call = study::natten_call_of(setting, forward, backward, context);
  if (!call) {
    throw InvalidParameter(
        "emit", to_string(kind),
        "layouts of 1 to 3 axes, multi-dimensional tiling and the KV tiling of a backend of "
        "NATTEN; else flex");
  }
  const NattenDispatch dispatch = dispatch_of(context.catalog.natten_release(setting.natten), *call);
  if (!dispatch.dense_path) call->kernel_schedule = dispatch.kernel_schedule;
  return *call;
}

/// What PyTorch is told before the call.
std::string settings_before(const NattenCall& call) {
  return call.deterministic ? "torch.use_deterministic_algorithms(True)\n" : "";
}

/// NATTEN's call in place of cyclic axes.
std::string emitted_around(EmitKind kind, const NeighborhoodMask& cyclic, const study::CountAnswer* padded,
                           const study::Context& context) {
  if (padded == nullptr || kind == EmitKind::kJson)
    throw InvalidParameter("emit", to_string(kind),
                           "flex or block-mask, or natten and natten-profiler of the padded layout: NATTEN has no "
                           "cyclic axes",
                           "flex");
  study::Setting setting = padded->question.setting;
  setting.backend = padded->chosen_backend;
  const NattenRules& rules = context.catalog.natten_release(setting.natten);
  const TilingProblem* backward = padded->backward ? &padded->backward->problem : nullptr;
  if (!setting.backend) {  // no device decides
    const NattenCall call = study::attention_call_of(setting, padded->forward.problem, backward);
    return (kind == EmitKind::kNatten ? settings_before(call) + natten_python_around(rules, call, cyclic)
                                      : natten_profiler_command(rules, call)) +
           "\n";
  }
  const NattenCall call = complete_call(setting, padded->forward.problem, backward, context, kind);
  if (kind == EmitKind::kNattenProfiler) return natten_profiler_command(rules, call) + "\n";
  return "# " + natten_path_note(rules, call) + "\n" + settings_before(call) + natten_python_around(rules, call, cyclic) + "\n";
}

/// What the script has for the tiles that were counted, and what runs them.
std::string note_on_blocks(const TilingProblem& forward) {
  if (forward.tiling != Tiling::kMultiDimensional) return "";
  const NeighborhoodMask& mask = forward.mask;
  std::string plan = "input=" + python_tuple(input_of(mask)) + ", window=" + python_tuple(window_of(mask)) +
                     ", stride=" + python_tuple(stride_of(mask)) + ",\n#     dilation=" + python_tuple(dilation_of(mask)) +
                     ", causal=" + python_tuple(causal_of(mask));
  if (has_cycle(mask)) plan += ", cyclic=" + python_tuple(cyclic_of(mask));
  return "# Blocks are FlexAttention's own: 128 tokens in row-major order. The tiles that were counted are run by\n"
         "# natten_sim.flex.plan(" + plan + ",\n#     q_tile=" + python_tuple(forward.tiles.q_tile) +
         ", kv_tile=" + python_tuple(forward.tiles.kv_tile) + ").\n";
}

}  // namespace

std::string emitted(EmitKind kind, const study::Setting& setting, const TilingProblem& forward,
                    const TilingProblem* backward, const study::Context& context,
                    const study::CountAnswer* padded) {
  if (kind == EmitKind::kFlex)
    return note_on_blocks(forward) +
           flex_attention_script(study::attention_call_of(setting, forward, backward), cyclic_of(forward.mask));
  if (kind == EmitKind::kBlockMask) {
    if (forward.kv_tiling != KvTiling::kStatic || forward.tiling != Tiling::kMultiDimensional)
      throw InvalidParameter("emit", to_string(kind), "static, multi-dimensional tiling");
    return block_mask_json(study::block_mask(forward.mask, forward.tiles)) + "\n";
  }
  if (has_cycle(forward.mask)) return emitted_around(kind, forward.mask, padded, context);
  const NattenCall call = complete_call(setting, forward, backward, context, kind);
  const NattenRules& rules = context.catalog.natten_release(setting.natten);
  switch (kind) {
    case EmitKind::kNatten:
      return "# " + natten_path_note(rules, call) + "\n" + settings_before(call) + natten_python(rules, call) + "\n";
    case EmitKind::kNattenProfiler:
      return natten_profiler_command(rules, call) + "\n";
    case EmitKind::kJson:
      return natten_json(rules, call) + "\n";
    case EmitKind::kFlex:
    case EmitKind::kBlockMask:
      break;
  }
  return "";
}

std::string emitted_call(const study::Setting& setting, const TilingProblem& forward, const TilingProblem* backward,
                         const study::Context& context, const NattenTensors& tensors) {
  const NattenCall call = complete_call(setting, forward, backward, context, EmitKind::kNatten);
  return natten_python(context.catalog.natten_release(setting.natten), call, tensors);
}

std::string emitted(EmitKind kind, const study::CountAnswer& answer, const study::Context& context) {
  study::Setting setting = answer.question.setting;
  setting.backend = answer.chosen_backend;
  return emitted(kind, setting, answer.forward.problem, answer.backward ? &answer.backward->problem : nullptr,
                 context, answer.padded.get());
}

namespace {

struct Emitted {
  EmitKind kind;
  const std::string* text;
};

auto emitted_text(EmitKind kind) {
  return [kind](const Emitted& each) { return each.kind == kind ? each.text : nullptr; };
}
auto emitted_object(EmitKind kind) {
  return [kind](const Emitted& each) {
    return each.kind == kind ? std::optional(OpenObject{parse_json(*each.text)}) : std::nullopt;
  };
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<Emitted>) {
  m.optional("natten_call", emitted_text(EmitKind::kNatten), "With --emit natten: the Python call");
  m.optional("natten_profiler", emitted_text(EmitKind::kNattenProfiler),
             "With --emit natten-profiler: the command that times it");
  m.optional("flex", emitted_text(EmitKind::kFlex),
             "With --emit flex: a Python script of the same mask by FlexAttention");
  m.optional("block_mask", emitted_object(EmitKind::kBlockMask),
             "With --emit block-mask: tables for FlexAttention's BlockMask");
  m.optional("natten_json", emitted_object(EmitKind::kJson), "With --emit json: call, path and Python");
}

void add_emitted(EmitKind kind, const std::string& text, Json& result) {
  JsonTree sink(result);
  write_members(Emitted{kind, &text}, sink);
}

Json with_emitted(Json schema) {
  schema["properties"].update(schema_of<Emitted>().at("properties"));
  return schema;
}

}  // namespace natten_sim::report
