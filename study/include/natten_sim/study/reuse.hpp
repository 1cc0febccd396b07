#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/fidelity.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/core/trace_access.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

/// What a kernel reads and writes behind the L2: sectors, misses, DRAM bytes, stack distances and time.
///
///     ReuseQuestion question;
///     question.subject = AttentionSubject{.seqlen = Extents{131072}, .head_dim = 128};
///     question.device = "h200";
///     question.method = LruReplay{};
///     question.compare = KvOrder::kSawtooth;
///     ReuseAnswer answer = reuse(question, default_context());
///     answer.results.front().first.dram_read_bytes;
///
/// An empty optional of a question takes the default that stands beside it. Bytes and sectors are of the
/// whole problem: all heads, all batches.

// ---- What is read.

/// The best of cyclic, sawtooth and descending, by a proof or by simulating all three.
struct BestOrder {};
/// Permutations of the KV tiles, or a list for each Q tile, with the name that answers show.
struct OwnOrder {
  std::string name;
  std::variant<KvPermutations, KvLists> walk;
};
using ReuseOrder = std::variant<KvOrder, BestOrder, OwnOrder>;
inline constexpr const char* kBestOrderName = "best";
/// The name of a KvOrder, "best", or the name of an OwnOrder.
[[nodiscard]] std::string name_of(const ReuseOrder& order);

/// Sequence lengths lo, lo + step, .. up to hi.
struct SeqlenSweep {
  std::int64_t lo = 1, hi = 1, step = 1;
};
inline constexpr std::int64_t kMaxSweepLengths = 10000;
/// @throws InvalidParameter unless 1 <= lo <= hi and step >= 1, with at most kMaxSweepLengths lengths.
void require_valid(const SeqlenSweep& sweep);
/// seqlen=LO:HI:STEP
[[nodiscard]] std::string to_string(const SeqlenSweep& sweep);

/// All axes of a layout are causal or none, or a flag says it of each.
using CausalAxes = std::variant<bool, PerAxis<bool>>;
/// A single flag stands for every axis.
[[nodiscard]] CausalAxes causal_axes(const PerAxis<bool>& flags);

/// Forward attention whose CTAs keep a Q tile and stream K and V past it.
struct AttentionSubject {
  std::variant<Extents, SeqlenSweep> seqlen;  ///< 1 to 4 axes; a sweep has one
  /// Keys; none: as many as queries. Of one axis without a window.
  std::optional<std::int64_t> seqlen_k;
  std::optional<Extents> window;  ///< none: dense
  Extents stride;                 ///< of the window; empty: 1
  /// Rules or blocks of one axis, in place of a window; then `seqlen` may be empty, if the mask brings its tokens.
  std::optional<GivenMask> mask;
  CausalAxes causal = false;      ///< an answer has flags only where they differ
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::optional<std::int64_t> heads_kv;   ///< divides the heads; none: as many
  std::int64_t head_dim = 64;             ///< of Q and K
  std::optional<std::int64_t> dim_value;  ///< head dim of V and O; none: that of Q and K
  Dtype dtype = Dtype::kFp16;
  /// A kernel of the catalog or of a file: gives what is left out, and its speed. launched_as_file() takes its launch.
  std::optional<KernelChoice> kernel;
  std::optional<Extents> q_tile, kv_tile;  ///< none: the kernel's, else kReuseDefaults' on one axis
  std::optional<CtaSchedule> schedule;     ///< none: the kernel's, else kReuseDefaults'
  LaunchOrder launch = LaunchOrder::kTilesFirst;
  bool longest_first = false;               ///< the last Q tile of a head is launched first
  std::optional<std::int64_t> ctas_per_sm;  ///< none: the kernel's, else kReuseDefaults'
  std::optional<std::int64_t> workers;      ///< CTAs resident at once; none: SMs times CTAs an SM
};

/// With launch, heads' order and element type that the file of its kernel says; as it is without one.
[[nodiscard]] AttentionSubject launched_as_file(AttentionSubject subject);

/// A plain buffer that all `workers` read `passes` times, in step.
struct StreamSubject {
  std::int64_t bytes = 0;
  std::int64_t passes = 1;
  std::optional<std::int64_t> workers;  ///< none: the SMs
};

/// Accesses of the caller's own, in order. An access without a size is one byte, so one sector.
struct TraceSubject {
  std::string name;  ///< shown in answers and errors
  std::function<void(const std::function<void(const TraceAccess&)>& visit,
                     const std::function<void(double)>& progress)>
      feed;
};

using ReuseSubject = std::variant<AttentionSubject, StreamSubject, TraceSubject>;

// ---- How it is predicted.

/// By formula: always answers sectors, and misses where a formula is exact.
struct ClosedForm {};

struct FullyAssociative {};
struct SetAssociative {
  std::int32_t ways = 16;
  Replacement replacement = Replacement::kLru;
  SetIndex index = SetIndex::kModulo;
  std::uint64_t seed = 0;  ///< of random replacement
};
/// Follows this share of the sectors of a stream or trace only, 0 < rate <= 1.
struct SampledLru {
  double rate = 0.01;
  std::uint64_t seed = 0;  ///< decides which sectors
};
/// Workers in lockstep in front of a cache.
struct LruReplay {
  std::variant<FullyAssociative, SetAssociative, SampledLru> cache;
  Granularity granularity = Granularity::kTile;  ///< of attention
};

/// How fast the CTAs of a kernel work on a device, where that was measured.
struct MeasuredPace {
  double pairs_per_ns = 0;   ///< token pairs that an SM multiplies, all its CTAs at work
  double lone_share = 1;     ///< share of that rate that a CTA alone on its SM reaches
  double slot_skew = 0;      ///< (youngest - oldest CTA of an SM) / mean time of a tile
  double jitter = 0;         ///< standard deviation of a tile's time, as a fraction
  double item_jitter = 0;    ///< of what all tiles of an item have in common
  double score_share = 0.5;  ///< of a tile's time, the part by K: scores and softmax
  /// From asking for a tile of kTimedTileBytes to its arrival from the L2, on an SM at work; 0: not measured.
  double arrival_ns = 0;
};

/// CTAs simulated in time. For attention only; needs a device with its bandwidths.
struct TimedRun {
  std::optional<double> jitter;      ///< instead of that of the pace or of the kernel
  std::optional<MeasuredPace> pace;  ///< none: the kernel's rate in the catalog, else the device's peak
  /// KV tiles that the shared memory of a CTA holds; none: the kernel's, else as many as fit.
  std::optional<std::int32_t> stages;
  std::uint64_t seed = 0;  ///< of the jitter
  /// From which GPC the launch starts, which varies: the runs of the launch order behind the first are turned
  /// by so many.
  std::int32_t launch_start = 0;
};

using ReuseMethod = std::variant<ClosedForm, LruReplay, TimedRun>;
[[nodiscard]] Fidelity fidelity_of(const ReuseMethod& method);
/// Of a question that says none: an exact LRU for a trace, else the closed form.
[[nodiscard]] Fidelity default_fidelity(bool of_trace);

/// Parts of the answer that take extra time; left out unless set.
struct ReuseDetails {
  bool mean_distance = false;
  bool histogram = false;
  bool curve = false;
  bool first_noncompulsory_seqlen = false;
};

/// What holds where neither the question, nor its kernel, nor its device says.
struct ReuseDefaults {
  std::int64_t tile = 128;  ///< edge of both tiles, of layouts with one axis
  std::int64_t sector_bytes = 32;
  std::int64_t sms = 1;
  std::int64_t ctas_per_sm = 1;
  CtaSchedule schedule = CtaSchedule::kPersistent;
  KvOrder order = KvOrder::kCyclic;
};
inline constexpr ReuseDefaults kReuseDefaults{};

struct ReuseQuestion {
  ReuseSubject subject;
  std::optional<std::string> device;           ///< name in the catalog
  std::optional<std::int64_t> capacity_bytes;  ///< none: what the device's L2 holds for all SMs; else unknown
  std::optional<std::int64_t> sector_bytes;    ///< none: the device's, else kReuseDefaults'
  /// Line of a set-associative cache; none: the device's, else a sector.
  std::optional<std::int64_t> line_bytes;
  std::optional<std::int64_t> sms;    ///< none: the device's, else kReuseDefaults'
  std::optional<ReuseMethod> method;  ///< none: that of default_fidelity
  std::optional<ReuseOrder> order;    ///< none: the kernel's, else kReuseDefaults'; a trace has none
  std::optional<ReuseOrder> compare;  ///< a second order, answered beside the first
  ReuseDetails details;
};

// ---- What is answered.

/// Sectors between L1 and L2. Only attention has operands.
struct ReuseSectors {
  std::optional<std::int64_t> q, k, v, o;
  std::int64_t total = 0;
};

/// The answer for one subject and one order. A member is empty if the method does not answer it, if it does
/// not apply, or if it was not asked for.
struct ReuseResult {
  std::optional<ReuseOrder> order;  ///< the one that was walked; none for a trace
  ReuseSectors sectors;
  std::int64_t cold_sectors = 0;
  std::optional<std::int64_t> miss_sectors;  ///< loads and stores
  /// 0..1, of all sectors, as Nsight Compute's lts__t_sector_hit_rate.pct has it: whole sectors that are
  /// stored hit.
  std::optional<double> hit_rate;
  std::optional<std::int64_t> dram_read_bytes;
  std::optional<std::int64_t> dram_write_bytes;
  std::optional<double> time_ns;                    ///< time of a timed run
  std::optional<std::int64_t> fabric_sectors;       ///< of a timed run: crossed between partitions of the L2
  std::optional<double> miss_ratio_standard_error;  ///< standard error of a sample
  std::optional<std::int64_t> first_noncompulsory_seqlen;
  std::optional<double> mean_distance_bytes;
  std::vector<ReuseProfile::Point> histogram;  ///< sectors in (upto / 2, upto] bytes
  std::vector<ReuseProfile::Point> curve;      ///< misses at each capacity where they change
};

struct ReuseComparison {
  std::optional<std::int64_t> seqlen;  ///< length of the first axis; none: the subject has no axes
  ReuseResult first;
  std::optional<ReuseResult> second;  ///< result for the order of `compare`
};

enum class CapacitySource { kGiven, kEffective, kWhole, kUnknown };

struct ReuseAnswer {
  ReuseQuestion question;        ///< with every default filled in
  std::optional<Device> device;  ///< the device that the question names
  CapacitySource capacity_source = CapacitySource::kGiven;
  /// Neither the question nor its kernel says which CTA takes which Q tile: kReuseDefaults do.
  bool schedule_assumed = false;
  /// Numbers of the device and of the kernel that the answer rests on and nobody measured, by their names in
  /// files: "l2_ways", "jitter of cudnn".
  std::vector<std::string> assumed_numbers;
  std::vector<ReuseComparison> results;  ///< one, or one for each length of the sweep
};

/// The rate of a timed run whose kernel nobody timed.
inline constexpr const char* kPeakRateName = "dense_bf16_flops_per_s";

/// Numbers of the device that answers of a timed run rest on and nobody measured: "l2_ways", or
/// "l2_effective_bytes" where the whole L2 is taken. By the names of device files. kPeakRateName is among
/// them, whether or not the kernel's own rate is known.
[[nodiscard]] std::vector<std::string> assumed_numbers(const Device& device);

/// Cost: closed form O(log) a length (plus that of attention_traffic), LRU and timed as replay_lockstep and
/// run_wavefront. @throws Error naming a member of the question, with dashes for underscores.
[[nodiscard]] ReuseAnswer reuse(const ReuseQuestion& question, const Context& context);

}  // namespace natten_sim::study
