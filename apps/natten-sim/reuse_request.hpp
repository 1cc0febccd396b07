#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/split_q.hpp>
#include <natten_sim/sim/attention_work.hpp>
#include <natten_sim/sim/lockstep.hpp>
#include <natten_sim/sim/set_associative_cache.hpp>
#include <natten_sim/sim/wavefront.hpp>

#include "command.hpp"

namespace natten_sim::cli {

enum class Fidelity { kClosedForm, kLru, kTimed };
[[nodiscard]] const char* to_string(Fidelity fidelity) noexcept;

/// `best` asks for the order with the fewest misses.
struct BestOrder {};
struct OrderChoice {
  std::string text;  ///< as given
  std::variant<Traversal, BestOrder, KvPermutations> order = Traversal::kCyclic;
};

struct SeqlenSweep {
  std::int64_t lo = 0, hi = 0, step = 1;
};

/// A plain buffer that `readers` workers read `passes` times in lockstep.
struct StreamSubject {
  std::int64_t bytes = 0;
  std::int64_t passes = 1;
  std::int64_t readers = 1;
};

/// Everything that `reuse` was asked, after defaults.
struct ReuseRequest {
  std::optional<Device> device;
  std::optional<AttentionKernel> kernel;
  Fidelity fidelity = Fidelity::kClosedForm;

  // One of three subjects: a stream, a trace file, else attention.
  std::optional<StreamSubject> stream;
  std::optional<std::string> trace_path;
  SplitQProblem problem;
  std::string dtype;
  bool causal = false;
  bool windowed = false;
  AttentionSchedule schedule;  ///< without the order
  std::int64_t ctas_per_sm = 1;
  OrderChoice order;
  std::optional<OrderChoice> compare;
  std::optional<SeqlenSweep> sweep;
  Granularity granularity = Granularity::kTile;

  // The cache.
  std::optional<std::int64_t> capacity_bytes;
  std::int64_t sector_bytes = 32;
  std::int64_t line_bytes = 32;
  std::int64_t sms = 1;
  std::optional<std::int32_t> ways;
  Replacement replacement = Replacement::kLru;
  SetIndex index = SetIndex::kModulo;
  std::optional<double> sample;
  std::optional<double> jitter;
};

[[nodiscard]] std::vector<OptionSpec> reuse_options();

/// @throws Error naming the option at fault.
[[nodiscard]] ReuseRequest read_reuse_request(const Arguments& arguments);

/// The same attention on one axis of another length. @throws as read_reuse_request.
[[nodiscard]] ReuseRequest with_seqlen(const ReuseRequest& request, std::int64_t seqlen);

/// What the timed model needs of the device and the kernel. @throws InvalidParameter naming the number that
/// the profile lacks.
[[nodiscard]] WavefrontDevice wavefront_device(const ReuseRequest& request);
[[nodiscard]] WavefrontOptions wavefront_options(const ReuseRequest& request);

}  // namespace natten_sim::cli
