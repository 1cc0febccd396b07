#pragma once

#include <string>

#include <natten_sim/core/natten_call.hpp>

namespace natten_sim::report {

/// Text that runs a configuration: pure functions, printed as they are. All of them throw InvalidParameter
/// for a call that NATTEN refuses, except the FlexAttention script, which needs no NATTEN.

/// `(8, 16)`, `(4096,)`, `(False, True)`.
[[nodiscard]] std::string python_tuple(const Extents& values);
[[nodiscard]] std::string python_tuple(const PerAxis<bool>& values);

/// Python of the tensors that a call is given.
struct NattenTensors {
  std::string query = "query", key = "key", value = "value";
};

/// The Python call, `natten.na2d(query, key, value, kernel_size=(8, 8), ..)`, in one line. Arguments that
/// equal NATTEN's defaults are left out, but for the window, stride, dilation and causal mask.
[[nodiscard]] std::string natten_python(const NattenRules& rules, const NattenCall& call, const NattenTensors& tensors = {});

/// What NATTEN does with the call, in one or two sentences: the kernel, its tiles, the dense path, the second
/// pass for additional keys.
[[nodiscard]] std::string natten_path_note(const NattenRules& rules, const NattenCall& call);

/// The shell command that times the call: `python -m natten.profiler -i 64 64 -w 8 8 ..`.
[[nodiscard]] std::string natten_profiler_command(const NattenRules& rules, const NattenCall& call);

/// The call and the path as one JSON object (schema natten-sim.natten-call/1).
[[nodiscard]] std::string natten_json(const NattenRules& rules, const NattenCall& call);

/// The Python that runs `call` in place of attention with cyclic axes, which NATTEN does not have: `call` is of
/// the layout that cycle_padding() pads, without its tokens `before` and after `before + size` of each axis.
[[nodiscard]] std::string natten_python_around(const NattenRules& rules, const NattenCall& call,
                                               const NeighborhoodMask& cyclic);

/// A Python script that runs the same mask by PyTorch's FlexAttention alone, tokens in row-major order.
/// @throws InvalidParameter on a mask that is not valid, on additional keys and on fp8.
[[nodiscard]] std::string flex_attention_script(const NattenCall& call, const PerAxis<bool>& cyclic = {});

}  // namespace natten_sim::report
