#include <fmt/format.h>
#include <fmt/ranges.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/natten_emit.hpp>

namespace natten_sim::report {
namespace {

Extents ones_unless(const Extents& values, std::size_t rank) {
  return values.empty() ? Extents(rank, 1) : values;
}

PerAxis<bool> causal_of_call(const NattenCall& call) {
  return call.causal.empty() ? PerAxis<bool>(call.input.rank(), false) : call.causal;
}

std::string spaced(const Extents& values) {
  std::string text;
  for (const std::int64_t value : values) text += " " + std::to_string(value);
  return text;
}

std::string pair_note(const TilePair& tiles) {
  return "Q tile " + to_string(tiles.q_tile) + ", KV tile " + to_string(tiles.kv_tile);
}

Json tiles_json(const std::optional<TilePair>& tiles) {
  return tiles ? Json{{"q_tile", to_json(tiles->q_tile)}, {"kv_tile", to_json(tiles->kv_tile)}} : Json();
}

/// {0}: a comma and the name of a parameter, {1}: its branch, {2}: its value; empty without cyclic axes.
constexpr const char* kFlexMask = R"py(
def attends(query, key, length, window, stride, dilation, causal{0}):
    """Generalized neighborhood attention along one axis."""
    group = query % dilation
    tokens = (length - group + dilation - 1) // dilation
    q, k = query // dilation, key // dilation
    if causal:
        leader = torch.minimum(q // stride * stride + stride - 1, tokens - 1)
        inside = (k <= q) & (leader - k < window)
{1}    else:
        leader = torch.minimum(q // stride * stride + stride // 2, tokens - 1)
        begin = torch.clamp(leader - window // 2, min=0)
        begin = torch.minimum(begin, tokens - window)
        inside = (begin <= k) & (k < begin + window)
    return inside & (key % dilation == group)

def mask_mod(batch, head, query, key):
    inside = None
    for axis in reversed(range(len(layout))):
        on_axis = attends(query % layout[axis], key % layout[axis], layout[axis], window[axis],
                          stride[axis], dilation[axis], causal[axis]{2})
        inside = on_axis if inside is None else inside & on_axis
        query, key = query // layout[axis], key // layout[axis]
    return inside

)py";

constexpr const char* kCyclicBranch = R"py(    elif cyclic:
        begin = q // stride * stride + stride // 2 - window // 2
        inside = (k - begin + tokens) % tokens < window
)py";

std::string flex_mask(bool cyclic) {
  return fmt::format(fmt::runtime(kFlexMask), cyclic ? ", cyclic" : "", cyclic ? kCyclicBranch : "",
                     cyclic ? ", cyclic[axis]" : "");
}

}  // namespace

std::string python_tuple(const Extents& values) {
  return fmt::format("({}{})", fmt::join(values, ", "), values.rank() == 1 ? "," : "");
}

std::string python_tuple(const PerAxis<bool>& values) {
  std::string text;
  for (const bool value : values) text += std::string(text.empty() ? "" : ", ") + (value ? "True" : "False");
  return "(" + text + (values.rank() == 1 ? ",)" : ")");
}

std::string natten_python(const NattenRules& rules, const NattenCall& call, const NattenTensors& tensors) {
  require_accepted(rules, call);
  const std::size_t rank = call.input.rank();
  std::string text =
      "natten.na" + std::to_string(rank) + "d(" + tensors.query + ", " + tensors.key + ", " + tensors.value +
      ", kernel_size=" + python_tuple(call.window) +
      ", stride=" + python_tuple(ones_unless(call.stride, rank)) +
      ", dilation=" + python_tuple(ones_unless(call.dilation, rank)) + ", is_causal=" + python_tuple(causal_of_call(call));
  if (call.additional_keys > 0)
    text += ", additional_keys=additional_keys, additional_values=additional_values";
  if (call.backend) text += std::string(", backend=\"") + to_string(*call.backend) + "\"";
  if (call.tiles) {
    text += ", q_tile_shape=" + python_tuple(call.tiles->q_tile) + ", kv_tile_shape=" + python_tuple(call.tiles->kv_tile);
  }
  if (call.backward_tiles) {
    text += ", backward_q_tile_shape=" + python_tuple(call.backward_tiles->q_tile) +
            ", backward_kv_tile_shape=" + python_tuple(call.backward_tiles->kv_tile);
  }
  if (!call.kernel_schedule.empty()) text += ", kernel_schedule=\"" + call.kernel_schedule + "\"";
  if (call.torch_compile) text += ", torch_compile=True";
  return text + ")";
}

std::string natten_path_note(const NattenRules& rules, const NattenCall& call) {
  const NattenDispatch dispatch = dispatch_of(rules, call);
  if (dispatch.dense_path) {
    std::string note = "The window covers the input: NATTEN " + rules.version + " runs one dense call of " +
                       fmha_name(dispatch.fmha) + " (" + pair_note(dispatch.fmha_tiles) +
                       "), whatever backend and tiles are given";
    if (call.additional_keys > 0) note += ", with the additional keys concatenated";
    return note + ".";
  }
  std::string note = "NATTEN " + rules.version + " runs " + to_string(dispatch.backend);
  if (dispatch.tiles) {
    note += " (" + pair_note(*dispatch.tiles);
    if (!dispatch.kernel_schedule.empty()) note += ", schedule " + dispatch.kernel_schedule;
    if (call.requires_grad && dispatch.backward_tiles)
      note += "; backward " + pair_note(*dispatch.backward_tiles);
    note += permutes_tokens(dispatch.backend) ? ") on tokens that it copies into tiles." : ").";
  } else {
    note += " on flattened tokens, 64 a block: tile shapes would make it permute tokens.";
  }
  if (call.additional_keys > 0) {
    note += std::string(" The additional keys take a second pass, of ") + fmha_name(dispatch.fmha) + " (" +
            pair_note(dispatch.fmha_tiles) + ").";
  }
  return note;
}

std::string natten_profiler_command(const NattenRules& rules, const NattenCall& asked) {
  const NattenCall call = profiler_call(rules, asked);
  std::string text = "python -m natten.profiler -i" + spaced(call.input) + " -w" + spaced(call.window);
  if (!call.stride.empty()) text += " -s" + spaced(call.stride);
  if (!call.dilation.empty()) text += " --dilation" + spaced(call.dilation);
  bool causal = false;
  std::string flags;
  for (const bool axis : causal_of_call(call)) {  // the profiler reads every word as true, '' alone as false
    causal = causal || axis;
    flags += axis ? " 1" : " ''";
  }
  if (causal) text += " -c" + flags;
  text += " -b " + std::to_string(call.batch) + " -n " + std::to_string(call.heads);
  if (call.heads_kv != call.heads) text += " --heads-kv " + std::to_string(call.heads_kv);
  text += " -d " + std::to_string(call.head_dim);
  if (call.head_dim_value != call.head_dim) text += " --dim-value " + std::to_string(call.head_dim_value);
  text += " --dtype " + std::string(to_string(call.dtype));
  if (call.requires_grad) text += " --backprop";
  if (call.additional_keys > 0) text += " --add-kv " + std::to_string(call.additional_keys);
  if (call.backend) text += std::string(" --backend ") + to_string(*call.backend);
  if (call.tiles)
    text += " --q-tile" + spaced(call.tiles->q_tile) + " --kv-tile" + spaced(call.tiles->kv_tile);
  if (call.backward_tiles) {
    text += " --backward-q-tile" + spaced(call.backward_tiles->q_tile) + " --backward-kv-tile" +
            spaced(call.backward_tiles->kv_tile);
  }
  if (!call.kernel_schedule.empty()) text += " --schedule " + call.kernel_schedule;
  const NattenDispatch dispatch = dispatch_of(rules, asked);
  if (!dispatch.dense_path && dispatch.backend == NattenBackend::kBlackwellFna)
    text += " --persistent";  // as na1d() to na3d() do by default; dense kernels are never told
  if (call.torch_compile) text += " --compile";
  return text;
}

std::string natten_json(const NattenRules& rules, const NattenCall& call) {
  const NattenDispatch dispatch = dispatch_of(rules, call);
  const std::size_t rank = call.input.rank();
  Json causal = Json::array();
  for (const bool axis : causal_of_call(call)) causal.push_back(axis);
  const auto name_or_null = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
  Json input = {{"input_size", to_json(call.input)},
                {"window_size", to_json(call.window)},
                {"stride", to_json(ones_unless(call.stride, rank))},
                {"dilation", to_json(ones_unless(call.dilation, rank))},
                {"causal", causal},
                {"batch", call.batch},
                {"heads", call.heads},
                {"heads_kv", call.heads_kv},
                {"dim", call.head_dim},
                {"dim_value", call.head_dim_value},
                {"dtype", to_string(call.dtype)},
                {"compute_capability", call.compute_capability},
                {"requires_grad", call.requires_grad},
                {"deterministic", call.deterministic},
                {"backend", call.backend ? name_or_null(to_string(*call.backend)) : name_or_null("")},
                {"tiles", tiles_json(call.tiles)},
                {"backward_tiles", tiles_json(call.backward_tiles)},
                {"kernel_schedule", name_or_null(call.kernel_schedule)},
                {"additional_keys", call.additional_keys},
                {"torch_compile", call.torch_compile},
                {"natten", rules.version}};
  const bool uses_fmha = dispatch.dense_path || call.additional_keys > 0;
  Json path = {{"dense", dispatch.dense_path},
               {"kernel", dispatch.dense_path ? fmha_name(dispatch.fmha) : to_string(dispatch.backend)},
               {"tiles", tiles_json(dispatch.dense_path ? dispatch.fmha_tiles : dispatch.tiles)},
               {"backward_tiles", tiles_json(dispatch.backward_tiles)},
               {"kernel_schedule", name_or_null(dispatch.kernel_schedule)},
               {"fmha", uses_fmha ? name_or_null(fmha_name(dispatch.fmha)) : name_or_null("")},
               {"note", natten_path_note(rules, call)},
               {"python", natten_python(rules, call)}};
  return Json{
      {"schema", "natten-sim.natten-call/1"}, {"input", std::move(input)}, {"result", std::move(path)}}
      .dump();
}

std::string natten_python_around(const NattenRules& rules, const NattenCall& call,
                                 const NeighborhoodMask& cyclic) {
  std::string paddings, inside;
  for (std::size_t axis = 0; axis < cyclic.rank(); ++axis) {
    const auto [before, after] = cycle_padding(cyclic[axis]);
    if (before + after == 0) {
      inside += ", :";
      continue;
    }
    paddings += fmt::format("{}({}, {}, {})", paddings.empty() ? "" : ", ", axis + 1, before, after);
    inside += fmt::format(", {}:{}", before, before + cyclic[axis].length);
  }
  return fmt::format(
      "# NATTEN has no cyclic axes: tokens of the other end are put before and after them.\n"
      "def around(tensor):  # (batch, {}, heads, dim)\n"
      "    for dim, before, after in [{}]:\n"
      "        size = tensor.shape[dim]\n"
      "        parts = [tensor.narrow(dim, size - before, before), tensor, tensor.narrow(dim, 0, after)]\n"
      "        tensor = torch.cat(parts, dim=dim)\n"
      "    return tensor\n\n"
      "query, key, value = around(query), around(key), around(value)\n"
      "output = {}[:{}]",
      fmt::join(input_of(cyclic), ", "), paddings, natten_python(rules, call), inside);
}

std::string flex_attention_script(const NattenCall& call, const PerAxis<bool>& cyclic) {
  const NeighborhoodMask mask =
      make_mask(call.input, call.window, call.stride, call.dilation, call.causal, cyclic);
  if (call.additional_keys > 0) {
    throw InvalidParameter("additional_keys", std::to_string(call.additional_keys),
                           "0: FlexAttention takes one set of keys", "0");
  }
  if (call.dtype == Dtype::kE4m3 || call.dtype == Dtype::kE5m2) {
    throw InvalidParameter("dtype", to_string(call.dtype), "fp16, bf16, fp32 (FlexAttention)", "fp16");
  }
  const char* dtype = call.dtype == Dtype::kBf16   ? "bfloat16"
                      : call.dtype == Dtype::kFp32 ? "float32"
                                                   : "float16";
  std::string text =
      "import math\n\nimport torch\nfrom torch.nn.attention.flex_attention import "
      "create_block_mask, flex_attention\n\n";
  text += "layout, window, stride = " + python_tuple(input_of(mask)) + ", " + python_tuple(window_of(mask)) + ", " +
          python_tuple(stride_of(mask)) + "\n";
  text += "dilation, causal = " + python_tuple(dilation_of(mask)) + ", " + python_tuple(causal_of(mask)) + "\n";
  if (has_cycle(mask)) text += "cyclic = " + python_tuple(cyclic_of(mask)) + "\n";
  text += "batch, heads, heads_kv, dim, dim_value = " + std::to_string(call.batch) + ", " +
          std::to_string(call.heads) + ", " + std::to_string(call.heads_kv) + ", " +
          std::to_string(call.head_dim) + ", " + std::to_string(call.head_dim_value) + "\n";
  text += "tokens = math.prod(layout)\n\n";
  text += flex_mask(has_cycle(mask));
  text += "\nblock_mask = create_block_mask(mask_mod, None, None, tokens, tokens, device=\"cuda\")\n";
  const std::string options = std::string(", device=\"cuda\", dtype=torch.") + dtype +
                              (call.requires_grad ? ", requires_grad=True" : "") + ")\n";
  text += "query = torch.randn(batch, heads, tokens, dim" + options;
  text += "key = torch.randn(batch, heads_kv, tokens, dim" + options;
  text += "value = torch.randn(batch, heads_kv, tokens, dim_value" + options;
  text +=
      "output = torch.compile(flex_attention)(query, key, value, block_mask=block_mask, "
      "enable_gqa=heads != heads_kv)\n";
  if (call.requires_grad) text += "output.sum().backward()\n";
  return text;
}

}  // namespace natten_sim::report
