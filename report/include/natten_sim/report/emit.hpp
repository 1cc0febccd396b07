#pragma once

#include <string>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/natten_emit.hpp>
#include <natten_sim/study/count.hpp>

namespace natten_sim::report {

/// Text that runs a configuration elsewhere.
enum class EmitKind {
  kNatten,          ///< the Python call, below a comment that says which path NATTEN takes
  kNattenProfiler,  ///< the shell command that times it
  kFlex,            ///< a Python script of the same mask by FlexAttention alone
  kBlockMask,       ///< the visited tiles as tables, for FlexAttention's BlockMask.from_kv_blocks
  kJson             ///< call, path and Python as one object
};

/// `--emit` of `count` and `search`, with a line break at its end. The call carries tiles of both passes, the
/// kernel schedule and additional keys; `backward` is set when the backward pass was asked for.
/// With cyclic axes NATTEN runs `padded` (CountAnswer::padded) in its place.
/// @throws InvalidParameter naming the rule when NATTEN refuses the call (flex: when the script cannot run).
[[nodiscard]] std::string emitted(EmitKind kind, const study::Setting& setting, const TilingProblem& forward,
                                  const TilingProblem* backward, const study::Context& context,
                                  const study::CountAnswer* padded = nullptr);

/// NATTEN's Python call alone, in one line, of these tensors.
[[nodiscard]] std::string emitted_call(const study::Setting& setting, const TilingProblem& forward,
                                       const TilingProblem* backward, const study::Context& context,
                                       const NattenTensors& tensors);

/// What runs a count on the backend that was chosen. If that lacks the count's tiles, NATTEN's rules refuse them.
[[nodiscard]] std::string emitted(EmitKind kind, const study::CountAnswer& answer, const study::Context& context);

/// Adds what emitted() returned to the `result` of --json: `natten_call`, `natten_profiler`, `flex` (texts),
/// `block_mask` or `natten_json` (objects).
void add_emitted(EmitKind kind, const std::string& text, Json& result);
/// The schema of a result with these members.
[[nodiscard]] Json with_emitted(Json schema);

}  // namespace natten_sim::report

namespace natten_sim {

template <>
struct NamesOf<report::EmitKind> {
  using Kind = report::EmitKind;
  static constexpr const char* kConcept = "emit";
  static constexpr Name<Kind> kTable[] = {{Kind::kNatten, "natten"},
                                          {Kind::kNattenProfiler, "natten-profiler"},
                                          {Kind::kFlex, "flex"},
                                          {Kind::kBlockMask, "block-mask"},
                                          {Kind::kJson, "json"}};
};

}  // namespace natten_sim
