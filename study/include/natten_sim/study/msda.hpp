#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/models/msda/msda_run.hpp>
#include <natten_sim/models/msda/msda_time.hpp>
#include <natten_sim/sim/msda/msda.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::study {

/// Traffic, contention, time and memory of one pass of multi-scale deformable attention.
///
///     MsdaQuestion question{.config = builtin_msda_configs().front()};
///     question.phase = MsdaPhase::kBackward;
///     question.orders = {QueryOrder::kLinear, QueryOrder::kHilbert};
///     MsdaAnswer answer = msda(question, default_context());
///     answer.passes[1].time.time_ns / answer.passes[0].time.time_ns;  // Hilbert over linear
///
/// An empty optional of a question takes the default that stands beside it.

/// Parts of the answer that are left out unless set. Addresses and remedies are those of the gradient updates
/// of a backward pass.
struct MsdaDetails {
  bool addresses = false;  ///< distinct words, and distinct sectors that are read
  bool remedies = false;
};

struct MsdaQuestion {
  MsdaConfig config;
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  std::optional<Dtype>
      accumulator;  ///< type in which value gradients are added up: the tensors' or fp32; none: the tensors'
  std::optional<Dtype> dtype;  ///< type of the tensors; none: fp16 with an fp16 accumulator, else bf16
  /// What adds the value's gradients, a row of the lowering table; none: what `update` is compiled from, or
  /// the query-block kernel of Triton.
  std::optional<std::string> construct;
  /// How this project's kernels add them; none: as the construct and the accumulator say, else red-16.
  /// Devices without costs of these kernels answer for those of Triton, whatever it says.
  std::optional<MsdaUpdate> update;
  /// Type of locations and weights; none: fp32 in this project's kernels, the tensors' in those of Triton.
  std::optional<Dtype> parameters;
  /// Dispatch orders; the answer has a pass for each.
  std::vector<QueryOrder> orders = {QueryOrder::kLinear};
  std::string device = "h200";  ///< a device of the catalog that has atomics, and MSDA kernels or costs
  MsdaSampling sampling;
  std::optional<std::int64_t> l2_bytes;  ///< L2 capacity; none: the device's capacity for scattered data
  MsdaDetails details;
};

/// One pass in one dispatch order.
struct MsdaPass {
  QueryOrder order = QueryOrder::kLinear;
  MsdaTraffic traffic;
  MsdaWork work;
  MsdaTime time;
  std::int64_t bytes = 0;       ///< to and from DRAM
  std::int64_t read_bytes = 0;  ///< of these, from DRAM
  std::int64_t flops = 0;
  double l2_hit_rate = 0;                      ///< 0..1
  std::optional<std::int64_t> unique_sectors;  ///< distinct sectors of the value tensor that are read
  std::optional<ScatterCost> updates;          ///< backward: updates of the value's gradient
};

/// How far predicted times are off on runs that no constant was fitted to.
struct MsdaError {
  std::string held_out;  ///< what those runs have of their own
  std::int64_t unfitted_points = 0;
  double unfitted_worst_ratio = 1;   ///< the larger of predicted / timed and its inverse
  double unfitted_mean_ratio = 1;    ///< geometric mean of the same
  std::vector<std::string> outside;  ///< members of the question beyond those runs: nothing is known then
};

struct MsdaAnswer {
  MsdaQuestion question;  ///< with both types filled in
  MsdaKernel kernel;      ///< of Triton; occupancy and granule are those of the kernel that was answered for
  bool own_kernel = false;         ///< this project's kernel was answered for, not the paper's in Triton
  std::optional<MsdaError> error;  ///< of this project's kernel
  ContentionProfile profile;
  std::int64_t peak_bytes = 0;   ///< peak memory
  std::vector<MsdaPass> passes;  ///< in the order of the question
};

/// Names of the configurations that ship.
[[nodiscard]] std::vector<std::string> msda_config_names();
/// Whether `--config VALUE` means a configuration, as it once did, and not a file of options.
[[nodiscard]] bool is_no_options_file(const std::string& value);

/// Time O(samples) an order, about 25 ns a corner; the rest is closed form.
/// @throws UnknownName or InvalidParameter naming a member of the question.
[[nodiscard]] MsdaAnswer msda(const MsdaQuestion& question, const Context& context);

/// The row of the lowering table that an update becomes; none for one that it lacks.
[[nodiscard]] std::optional<std::string> construct_of(MsdaUpdate update, Dtype dtype);

/// The cache that the question's device puts in front of its DRAM.
[[nodiscard]] MsdaCache msda_cache(const MsdaQuestion& question, const Context& context);

/// The same answer from known traffic: what `simulate_msda` counts for the question's configuration, sampling
/// and msda_cache, with one entry for each order.
[[nodiscard]] MsdaAnswer msda_from_traffic(const MsdaQuestion& question, std::vector<MsdaTraffic> traffic,
                                           const Context& context);

template <typename Members>
void describe(Members& members, const MsdaConfig&) {
  using C = MsdaConfig;
  members.key("batch", &C::batch, {.range = {1, kMaxBatch}});
  members.key("height", &C::height, {});
  members.key("width", &C::width, {});
  members.key("strides", &C::strides, {});
  members.key("channels", &C::channels, {});
  members.key("heads", &C::heads, {.range = {1, kMaxHeads}});
  members.key("points", &C::points, {});
  members.key("queries", &C::queries, {.range = {.lo = 0}});
}

template <typename Members>
void describe_sampling(Members& members) {
  using S = MsdaSampling;
  members.add("offsets", &S::offsets,
              {.value = "KIND",
               .help = "Distribution of the samples: uniform, gaussian, learned or image (anywhere) [default]"});
  members.add("spread", &S::spread,
              {.value = "PIXELS",
               .help = "Half edge (uniform) or standard deviation of the offsets, 0..1000000 pixels [default]",
               .interval = {0, 1e6},
               .accepted = "0..1000000 pixels"});
  members.add("seed", &S::seed,
              {.value = "K",
               .help = "Seed of reference points and offsets [default]",
               .range = {0, std::int64_t{1} << 62}});
}

template <typename Members>
void describe(Members& members, const MsdaQuestion& question) {
  using Q = MsdaQuestion;
  constexpr const char* kTypes = "bf16 fp16 fp32";
  members.group("Problem");
  members.add("config", &Q::config,
              {.flags = "--workload",
               .help = "Configuration, a shape as B3_640x960_d256_L3_h8_p6_q900, or a JSON file",
               .spellings = {{.flag = "--config", .old = true, .with = is_no_options_file}},
               .suggestions = msda_config_names});
  members.part(&Q::config, [&](auto& config) { describe(config, question.config); });
  members.add("phase", &Q::phase, {.value = "PHASE", .help = "forward or backward [default]"});
  members.add("tiling", &Q::tiling,
              {.value = "KIND",
               .help = "block: a program takes all points of a query; point: one (query, head, level, point) "
                       "[default]"});
  members.add("dtype", &Q::dtype,
              {.value = "TYPE",
               .help = "Type of the tensors: bf16, fp16 or fp32 [fp16 with an fp16 accumulator, else bf16]",
               .choices = kTypes});
  members.add("accumulator", &Q::accumulator,
              {.value = "TYPE",
               .help = "Type in which gradients of the value are added up: the tensors', or fp32 [the tensors']",
               .choices = kTypes});
  members.add("construct", &Q::construct,
              {.help = "What adds gradients of the value, of the lowering table [msda-triton-block]",
               .choices = joined(scatter_constructs(), " "),
               .echo = Echo::kWhenSet});
  members.add("update", &Q::update,
              {.help = "How this project's kernels add gradients of the value [as construct and accumulator say]",
               .echo = Echo::kWhenSet});
  members.add("order", &Q::orders, {.help = "Dispatch order of the queries, or all of them [default]"});
  members.add("device", &Q::device,
              {.help = "Device with measured contention [default]", .names = NamesOfCatalog::kDevices});
  members.part(&Q::sampling, [](auto& sampling) { describe_sampling(sampling); });
  members.add("l2_bytes", &Q::l2_bytes,
              {.help = "Capacity of the L2 [the device's]",
               .range = {0, std::int64_t{1} << 40},
               .echo = Echo::kWhenSet});
}

}  // namespace natten_sim::study
