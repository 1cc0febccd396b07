#include "natten_checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>

#include "natten_accepted.hpp"

namespace natten_sim {
namespace {

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string names(const std::vector<Dtype>& dtypes) {
  std::vector<std::string> words;
  for (const Dtype dtype : dtypes) words.emplace_back(to_string(dtype));
  return joined(words);
}

bool is_fp8(Dtype dtype) { return dtype == Dtype::kE4m3 || dtype == Dtype::kE5m2; }

/// The elementwise minimum of two of the same length.
Extents bounded(const Extents& values, const Extents& highest) {
  Extents result;
  for (std::size_t axis = 0; axis < values.rank(); ++axis)
    result.push_back(std::min(values[axis], highest[axis]));
  return result;
}

Extents at_least(const Extents& values, std::int64_t lowest) {
  Extents result;
  for (const std::int64_t value : values) result.push_back(std::max(value, lowest));
  return result;
}

std::string values_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " value" : " values");
}

std::optional<NattenRefusal> rank_refusal(const char* parameter, std::size_t given, std::size_t rank) {
  if (given == 0 || given == rank) return std::nullopt;
  return NattenRefusal{"one value for each axis of the input", parameter, values_text(given),
                       values_text(rank), ""};
}

std::optional<NattenRefusal> lowest_refusal(const char* rule, const char* parameter, const Extents& values,
                                            std::int64_t lowest) {
  for (const std::int64_t value : values) {
    if (value >= lowest) continue;
    return NattenRefusal{rule, parameter, to_string(values), std::to_string(lowest) + " or more on each axis",
                         to_string(at_least(values, lowest))};
  }
  return std::nullopt;
}

std::optional<NattenRefusal> positive_refusal(const char* parameter, std::int64_t value) {
  if (value >= 1) return std::nullopt;
  return NattenRefusal{"sizes are positive", parameter, std::to_string(value), "1 or more", "1"};
}

std::optional<NattenRefusal> capability_refusal(const NattenBackendRules& rules, const char* name,
                                                std::int64_t capability) {
  const std::vector<std::int64_t>& accepted = rules.compute_capabilities;
  if (accepted.empty()) {
    if (capability >= rules.lowest_compute_capability) return std::nullopt;
    const std::string lowest = std::to_string(rules.lowest_compute_capability);
    return NattenRefusal{std::string(name) + " needs compute capability " + lowest + " or higher",
                         "compute_capability", std::to_string(capability), lowest + " or higher", lowest};
  }
  if (std::find(accepted.begin(), accepted.end(), capability) != accepted.end()) return std::nullopt;
  std::string text;
  for (const std::int64_t one : accepted) text += (text.empty() ? "" : " or ") + std::to_string(one);
  return NattenRefusal{std::string(name) + " needs compute capability " + text, "compute_capability",
                       std::to_string(capability), text, std::to_string(accepted.front())};
}

std::optional<NattenRefusal> dtype_refusal(const NattenBackendRules& rules, const char* name,
                                           const NattenCall& call) {
  const bool compiled = call.torch_compile && !rules.compiled_dtypes.empty();
  const std::vector<Dtype>& both_passes = compiled ? rules.compiled_dtypes : rules.dtypes;
  if (contains(both_passes, call.dtype)) return std::nullopt;
  std::vector<Dtype> accepted = both_passes;
  if (!call.requires_grad) {
    accepted.insert(accepted.end(), rules.forward_dtypes.begin(), rules.forward_dtypes.end());
  }
  if (contains(accepted, call.dtype)) return std::nullopt;
  const bool forward_only = contains(rules.forward_dtypes, call.dtype);
  return NattenRefusal{forward_only ? std::string(name) + " has no backward pass in fp8"
                                    : std::string(name) + " runs some element types only",
                       "dtype", to_string(call.dtype), names(accepted), to_string(accepted.front())};
}

std::optional<NattenRefusal> head_dim_refusal(const HeadDimRule& rule, const std::string& sentence,
                                              const char* parameter, std::int64_t head_dim) {
  if (rule.accepts(head_dim)) return std::nullopt;
  return NattenRefusal{sentence, parameter, std::to_string(head_dim), rule.text(),
                       std::to_string(rule.nearest(head_dim))};
}

std::optional<NattenRefusal> head_dims_refusal(const NattenBackendRules& rules, const char* name,
                                               const NattenCall& call) {
  if (!rules.value_head_dim_may_differ && call.head_dim != call.head_dim_value) {
    return NattenRefusal{std::string(name) + " needs equal head dims of Q, K and V", "dim_value",
                         std::to_string(call.head_dim_value), std::to_string(call.head_dim),
                         std::to_string(call.head_dim)};
  }
  if (call.requires_grad && rules.backward_head_dims) {
    if (auto refusal = head_dim_refusal(*rules.backward_head_dims,
                                        std::string(name) + " has no backward pass for this head dim", "dim",
                                        call.head_dim)) {
      return refusal;
    }
  }
  const HeadDimRule& accepted = is_fp8(call.dtype) && rules.fp8_head_dims        ? *rules.fp8_head_dims
                                : call.torch_compile && rules.compiled_head_dims ? *rules.compiled_head_dims
                                                                                 : rules.head_dims;
  if (accepted.accepts(call.head_dim) && accepted.accepts(call.head_dim_value)) return std::nullopt;
  const std::string sentence = std::string(name) + " runs some head dims only";
  if (auto refusal = head_dim_refusal(accepted, sentence, "dim", call.head_dim)) return refusal;
  return head_dim_refusal(accepted, sentence, "dim_value", call.head_dim_value);
}

/// `can_run_..`: whether a family's kernel runs the call at all.
std::optional<NattenRefusal> can_run_refusal(const NattenBackendRules& rules, const NattenCall& call,
                                             bool dense) {
  const char* name = dense ? fmha_name(rules.backend) : to_string(rules.backend);
  if (auto refusal = capability_refusal(rules, name, call.compute_capability)) return refusal;
  const bool has_deterministic = dense ? rules.deterministic_dense_backward : rules.deterministic_backward;
  if (call.requires_grad && call.deterministic && !has_deterministic) {
    return NattenRefusal{std::string(name) + " has no deterministic backward pass", "deterministic", "true",
                         "false with a gradient", "false"};
  }
  if (auto refusal = dtype_refusal(rules, name, call)) return refusal;
  return head_dims_refusal(rules, name, call);
}

/// hopper-fna and hopper-fmha look up a backward configuration even when there is no gradient.
std::optional<NattenRefusal> backward_config_refusal(const NattenBackendRules& rules, const char* name,
                                                     const NattenCall& call) {
  if (!rules.backward_config_required || !rules.backward_head_dims) return std::nullopt;
  return head_dim_refusal(*rules.backward_head_dims,
                          std::string(name) + " wants a backward configuration, in inference too", "dim",
                          call.head_dim);
}

bool forward_gemm_fits(const NattenBackendRules& rules, const std::string& gemm, std::int64_t capability) {
  return std::all_of(rules.forward_gemms.begin(), rules.forward_gemms.end(),
                     [&](const GemmRule& rule) { return rule.gemm != gemm || rule.fits(capability); });
}

/// Which GEMM shapes of cutlass-fna's backward pass a device can hold:
/// natten/backends/configs/cutlass/__init__.py.
bool backward_gemm_fits(const std::string& gemm, const NattenCall& call) {
  const std::int64_t capability = call.compute_capability;
  if (gemm == "64x64") return true;
  const bool large = capability == 80 || capability == 90 || capability == 100 || capability == 103;
  const bool fp32 = call.dtype == Dtype::kFp32;
  const std::int64_t head_dim = std::max(call.head_dim, call.head_dim_value);
  if (gemm == "128x64") return fp32 ? large : capability == 70 || (large && head_dim > 128);
  return !fp32 && large && head_dim <= 128;  // 128x128
}

/// NATTEN's word for a schedule of data/backends.json.
std::string schedule_word(const std::string& variant) {
  if (variant == "non-persistent") return "non";
  if (variant == "cooperative") return "coop";
  return variant == "pingpong" ? "pp" : variant;
}

std::string pair_text(const TilePair& tiles) {
  return "q " + to_string(tiles.q_tile) + ", kv " + to_string(tiles.kv_tile);
}

/// Doublings between two shapes, over all axes. Shapes of other ranks are equally far.
double doublings(const Extents& a, const Extents& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < std::min(a.rank(), b.rank()); ++axis) {
    const auto size = [](std::int64_t value) {
      return static_cast<double>(std::max<std::int64_t>(value, 1));
    };
    sum += std::abs(std::log2(size(a[axis]) / size(b[axis])));
  }
  return sum;
}

double doublings(const TilePair& a, const TilePair& b) {
  return doublings(a.q_tile, b.q_tile) + doublings(a.kv_tile, b.kv_tile);
}

}  // namespace

bool is_compiled(const NattenBackendRules& rules, const BackendTiles& entry, std::size_t rank, Walk pass,
                 const NattenCall& call) {
  if (entry.tiles.q_tile.rank() != rank) return false;
  if (entry.head_dim && *entry.head_dim != call.head_dim) return false;
  if (pass == Walk::kForward) return forward_gemm_fits(rules, entry.variant, call.compute_capability);
  return rules.backend != NattenBackend::kCutlassFna || backward_gemm_fits(entry.variant, call);
}

std::optional<NattenRefusal> pair_refusal(const NattenBackendRules& rules, const NattenCall& call, Walk pass,
                                          const TilePair& tiles, const std::string& schedule) {
  const std::vector<BackendTiles>& table = pass == Walk::kForward ? rules.forward : rules.backward;
  bool known_pair = false;
  std::string schedules;
  for (const BackendTiles& entry : table) {
    if (!(entry.tiles == tiles) || !is_compiled(rules, entry, call.input.rank(), pass, call)) continue;
    const std::string word = schedule_word(entry.variant);
    if (schedule.empty() || schedule == word) return std::nullopt;
    known_pair = true;
    schedules += (schedules.empty() ? "" : ", ") + word;
  }
  if (known_pair) {
    return NattenRefusal{"these tiles have some kernel schedules only", "kernel_schedule", schedule,
                         schedules, schedules.substr(0, schedules.find(','))};
  }
  std::int64_t known = 0;
  const BackendTiles* nearest = nullptr;
  for (const BackendTiles& entry : table) {
    if (!is_compiled(rules, entry, call.input.rank(), pass, call)) continue;
    ++known;
    if (nearest == nullptr || doublings(entry.tiles, tiles) < doublings(nearest->tiles, tiles)) nearest = &entry;
  }
  const bool forward = pass == Walk::kForward;
  return NattenRefusal{
      std::string("tile pairs are those that ") + to_string(rules.backend) + " was compiled for",
      forward ? "q_tile_shape, kv_tile_shape" : "backward_q_tile_shape, backward_kv_tile_shape",
      pair_text(tiles), "one of " + std::to_string(known) + (forward ? "" : " backward") + " pairs",
      nearest == nullptr ? "" : pair_text(nearest->tiles)};
}

PerAxis<bool> causal_or_none(const NattenCall& call) {
  return call.causal.empty() ? PerAxis<bool>(call.input.rank(), false) : call.causal;
}

std::optional<NattenRefusal> tensor_refusal(const NattenCall& call) {
  const std::size_t rank = call.input.rank();
  if (rank < 1 || rank > 3) {
    return NattenRefusal{"layouts have 1 to 3 axes", "input_size", std::to_string(rank) + " axes",
                         "1 to 3 axes", ""};
  }
  if (auto refusal = lowest_refusal("sizes are positive", "input_size", call.input, 1)) return refusal;
  const std::pair<const char*, std::int64_t> sizes[] = {{"batch_size", call.batch},
                                                        {"heads", call.heads},
                                                        {"heads_kv", call.heads_kv},
                                                        {"dim", call.head_dim},
                                                        {"dim_value", call.head_dim_value}};
  for (const auto& [name, value] : sizes) {
    if (auto refusal = positive_refusal(name, value)) return refusal;
  }
  if (call.heads % call.heads_kv != 0) {
    std::int64_t nearest = std::min(call.heads_kv, call.heads);
    while (call.heads % nearest != 0) --nearest;
    return NattenRefusal{"heads of K and V divide heads of Q", "heads_kv", std::to_string(call.heads_kv),
                         "divisors of " + std::to_string(call.heads), std::to_string(nearest)};
  }
  if (call.additional_keys < 0) {
    return NattenRefusal{"sizes are positive", "additional_keys", std::to_string(call.additional_keys),
                         "0 or more", "0"};
  }
  if (call.kernel_schedule.empty()) return std::nullopt;
  const std::vector<std::string> schedules = {"non", "coop", "pp"};
  if (!contains(schedules, call.kernel_schedule)) {
    return NattenRefusal{"kernel schedules have three names", "kernel_schedule", call.kernel_schedule,
                         joined(schedules), closest_name(call.kernel_schedule, schedules)};
  }
  return std::nullopt;
}

std::optional<NattenRefusal> mask_refusal(const NattenCall& call) {
  const std::size_t rank = call.input.rank();
  if (call.window.empty()) {
    return NattenRefusal{"one value for each axis of the input", "kernel_size", "none", values_text(rank),
                         to_string(call.input)};
  }
  const std::pair<const char*, std::size_t> ranks[] = {{"kernel_size", call.window.rank()},
                                                       {"stride", call.stride.rank()},
                                                       {"dilation", call.dilation.rank()},
                                                       {"is_causal", call.causal.rank()}};
  for (const auto& [name, given] : ranks) {
    if (auto refusal = rank_refusal(name, given, rank)) return refusal;
  }
  if (auto refusal = lowest_refusal("kernel sizes are 2 or more", "kernel_size", call.window, 2))
    return refusal;
  if (auto refusal = lowest_refusal("strides are positive", "stride", call.stride, 1)) return refusal;
  if (auto refusal = lowest_refusal("dilations are positive", "dilation", call.dilation, 1)) return refusal;
  const Extents dilation = call.dilation.empty() ? Extents(rank, 1) : call.dilation;
  Extents widest;
  for (std::size_t axis = 0; axis < rank; ++axis) widest.push_back(call.input[axis] / dilation[axis]);
  const Extents fitting = bounded(call.window, widest);
  if (!(fitting == call.window)) {
    const bool possible = *std::min_element(fitting.begin(), fitting.end()) >= 2;
    return NattenRefusal{"kernel size times dilation fits the input", "kernel_size", to_string(call.window),
                         "at most " + to_string(widest), possible ? to_string(fitting) : ""};
  }
  if (!call.stride.empty() && !(bounded(call.stride, call.window) == call.stride)) {
    return NattenRefusal{"strides are no larger than the kernel size", "stride", to_string(call.stride),
                         "at most " + to_string(call.window), to_string(bounded(call.stride, call.window))};
  }
  return std::nullopt;
}

BackendChoice choose_backend(const NattenRules& rules, const NattenCall& call) {
  BackendChoice choice;
  for (const NattenBackendRules& backend : rules.backends) {
    choice.backend = backend.backend;
    choice.refusal = can_run_refusal(backend, call, false);
    if (!choice.refusal) return choice;
    if (!capability_refusal(backend, to_string(backend.backend), call.compute_capability))
      choice.passed_over.push_back({backend.backend, *choice.refusal});
  }
  choice.refusal->rule = "no backend runs this call; the last one tried: " + choice.refusal->rule;
  accept_what_any_runs(call, [&](const NattenCall& other) {
    return std::any_of(rules.backends.begin(), rules.backends.end(),
                       [&](const NattenBackendRules& backend) { return !can_run_refusal(backend, other, false); });
  }, *choice.refusal);
  return choice;
}

BackendChoice choose_fna(const NattenRules& rules, const NattenCall& call) {
  if (!call.backend) return choose_backend(rules, call);
  return {*call.backend, backend_refusal(rules, call), {}};
}

std::optional<NattenRefusal> backend_refusal(const NattenRules& rules, const NattenCall& call) {
  return can_run_refusal(rules.of(call.backend.value()), call, false);
}

BackendChoice choose_dense_backend(const NattenRules& rules, const NattenCall& call, bool causal) {
  BackendChoice choice;
  for (const NattenBackendRules& backend : rules.backends) {
    const char* name = fmha_name(backend.backend);
    choice.backend = backend.backend;
    choice.refusal = can_run_refusal(backend, call, true);
    if (causal && backend.backend == NattenBackend::kFlexFna) {
      choice.refusal = NattenRefusal{"flex-fmha has no causal mask", "is_causal", "true", "false", "false"};
    }
    if (!choice.refusal) {
      choice.refusal = backward_config_refusal(backend, name, call);
      return choice;
    }
    if (!capability_refusal(backend, name, call.compute_capability))
      choice.passed_over.push_back({backend.backend, *choice.refusal});
  }
  choice.refusal->rule = "no dense backend runs this call; the last one tried: " + choice.refusal->rule;
  return choice;
}

std::optional<NattenRefusal> tiles_refusal(const NattenBackendRules& rules, const NattenCall& call) {
  if (auto refusal = backward_config_refusal(rules, to_string(rules.backend), call)) return refusal;
  const std::string schedule = rules.backend == NattenBackend::kHopperFna ? call.kernel_schedule : "";
  if (call.tiles || !schedule.empty()) {
    const TilePair tiles =
        call.tiles ? *call.tiles : default_config(rules, call.input.rank(), call).forward.tiles;
    if (auto refusal = pair_refusal(rules, call, Walk::kForward, tiles, schedule)) return refusal;
  }
  if (!call.backward_tiles || rules.backend == NattenBackend::kFlexFna) return std::nullopt;
  return pair_refusal(rules, call, Walk::kBackward, *call.backward_tiles, "");
}

DefaultConfig default_config(const NattenBackendRules& rules, std::size_t rank, const NattenCall& call) {
  DefaultConfig config;
  if (!rules.default_tiles.empty()) {
    const NattenDefaultTiles& tiles = rules.default_tiles.at(rank - 1);
    if (tiles.forward) config.forward.tiles = *tiles.forward;
    config.backward = tiles.backward;
    return config;
  }
  for (const BackendTiles& entry : rules.forward) {
    if (!is_compiled(rules, entry, rank, Walk::kForward, call)) continue;
    config.forward = entry;
    break;
  }
  for (const BackendTiles& entry : rules.backward) {
    if (!is_compiled(rules, entry, rank, Walk::kBackward, call)) continue;
    config.backward = entry.tiles;
    break;
  }
  return config;
}

std::string schedule_of(const NattenBackendRules& rules, const NattenCall& call, const TilePair& tiles) {
  if (!call.kernel_schedule.empty()) return call.kernel_schedule;
  for (const BackendTiles& entry : rules.forward) {
    if (is_compiled(rules, entry, tiles.q_tile.rank(), Walk::kForward, call) && entry.tiles == tiles) {
      return schedule_word(entry.variant);
    }
  }
  return "";
}

}  // namespace natten_sim
