#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/study/describe/members.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// Why attention kernels of a profile read as much from DRAM as they did.
///
///     ExplainQuestion question;
///     question.launches = ...;   // what a profiler says of each launch
///     question.given.seqlen = 65536;   // what neither names nor grids tell
///     ExplainAnswer answer = explain(question, default_context());
///     answer.kernels.front().read->drift_bytes;
///
/// Names and grids of known kernels tell tiles, schedule and order, and often the problem. Sectors between L1
/// and L2 are exact, so a counter of them settles what is left open: whether the mask was causal, how long
/// the keys were. What is open after that is asked for by the name of its option.

/// A launch as a profiler describes it. Empty: the profile does not say.
struct ProfiledKernel {
  std::string name;  ///< demangled, with template arguments
  std::array<std::int64_t, 3> grid{}, block{};
  std::optional<std::int64_t> shared_bytes = {};  ///< dynamic, of a CTA
  std::optional<std::int64_t> ctas_per_sm = {};   ///< that registers, shared memory and warps allow
  std::optional<std::int64_t> sms = {};           ///< of the GPU
  std::optional<std::string> gpu = {};            ///< "NVIDIA H200"
  std::optional<double> dram_read_bytes = {}, dram_write_bytes = {}, l2_read_sectors = {}, time_ns = {};
  std::optional<double> dram_bytes = {};  ///< read and written together
};

/// What describes the problem and the walk of a kernel. Empty: not known.
struct ExplainedProblem {
  std::optional<std::int64_t> seqlen;    ///< queries
  std::optional<std::int64_t> seqlen_k;  ///< keys; none: as many
  std::optional<std::int64_t> batch, heads, heads_kv, head_dim;
  std::optional<bool> causal;
  std::optional<Dtype> dtype;
  std::optional<std::int64_t> q_tile, kv_tile;
  std::optional<KvOrder> order;
  std::optional<CtaSchedule> schedule;
  std::optional<bool> longest_first;
};

/// How a member of the problem is known. kName: from the kernel's name; kGrid: from its grid; kFamily: what
/// all kernels of this family do; kGiven: the question says; kSectors: the sector counter decides; kReads:
/// fewer bytes were read from DRAM than any other value has; kFile: a kernel file says; kAssumed: the default where nothing tells;
/// kGuessed: several values explain the counters, and this is the likeliest.
enum class KnownFrom { kName, kGrid, kFamily, kGiven, kSectors, kReads, kFile, kAssumed, kGuessed };

/// "kv-tile" is known from kName.
struct KnownMember {
  std::string member;  ///< by the name of its option
  KnownFrom from = KnownFrom::kName;
};

/// DRAM reads of one launch, part by part: measured = compulsory + lockstep + drift + unexplained.
struct ExplainedReads {
  std::optional<double> measured_bytes;
  double compulsory_bytes = 0;  ///< Q, K and V once
  double lockstep_bytes = 0;    ///< read again by CTAs that walk in step: K and V do not fit the L2
  double drift_bytes = 0;       ///< read again, or saved, because CTAs do not walk in step
  std::optional<double> unexplained_bytes;
  Fidelity fidelity = Fidelity::kTimed;  ///< of the prediction; without kTimed there is no drift
  [[nodiscard]] double predicted_bytes() const { return compulsory_bytes + lockstep_bytes + drift_bytes; }
};

/// Another walk of the same problem: one of the three has changed.
struct ExplainedChange {
  std::optional<KvOrder> order = {};
  std::optional<LaunchOrder> launch = {};
  std::optional<bool> longest_first = {};
  double predicted_bytes = 0;
  double saved_share = 0;     ///< of what is predicted now
  double expected_bytes = 0;  ///< that share less than was measured, or predicted without a measurement
};

/// Launches of one kernel with one grid; measured numbers are medians.
struct ExplainedKernel {
  ProfiledKernel launch;
  std::int64_t launches = 1;
  std::string family;  ///< "fa2", "cudnn", .., a kernel of a kernel file; empty: not known as attention
  std::string title;
  ExplainedProblem problem;
  std::vector<KnownMember> known;
  std::vector<std::string> missing;       ///< options that would complete the problem
  std::optional<std::string> unmodelled;  ///< why there is no prediction although nothing is missing
  std::optional<double> predicted_sectors;
  std::optional<ExplainedReads> read;    ///< none: something is missing, or it is not modelled
  std::vector<ExplainedChange> changes;  ///< by bytes; the first reads least
  std::vector<std::string> assumed;      ///< numbers of the device that nobody measured
  LaunchOrder launch_order = LaunchOrder::kTilesFirst;  ///< as a kernel file says
};

struct ExplainQuestion {
  std::vector<ProfiledKernel> launches;
  /// Family of launches whose names no family knows, by name: then they are attention too. kAnyFamily: one
  /// that is not known, whose tiles and mask are inferred from grid, shared memory and sectors.
  std::optional<std::string> as = {};
  std::optional<std::string> device;  ///< none: the profile's GPU, if the catalog has it
  ExplainedProblem given;             ///< taken where a launch does not tell
  std::vector<AttentionKernel> kernels = {};  ///< of a kernel file: come before the families, for launches that they name
};

struct ExplainAnswer {
  ExplainQuestion question;
  std::optional<std::string> device;     ///< name in the catalog
  std::vector<ExplainedKernel> kernels;  ///< of attention, in the order of the profile
  std::vector<ProfiledKernel> others;    ///< not known as attention, the longest kMaxOtherNames by time
  std::int64_t other_launches = 0;       ///< of kernels that are not known as attention
  std::vector<std::string> other_names;  ///< without repetition, at most kMaxOtherNames
};
inline constexpr std::size_t kMaxOtherNames = 8;
inline constexpr const char* kAnyFamily = "any";

/// Sectors that a counter and a formula may differ by and still be of one problem, as a share.
inline constexpr double kSameSectors = 0.002;
/// A launch of more visited tiles than this is not simulated; the closed form answers.
inline constexpr double kExplainedVisits = 4e6;

/// Cost: for each kernel a few times that of reuse(). @throws UnknownName for device and family,
/// InvalidParameter for given members out of range.
[[nodiscard]] ExplainAnswer explain(const ExplainQuestion& question, const Context& context);

/// All kernels of a file, or the one that ships, as ExplainQuestion takes them. @throws as kernels_of(), and
/// InvalidParameter for one whose launches no names tell.
[[nodiscard]] std::vector<AttentionKernel> profiled_kernels_of(const std::string& parameter, const std::string& text);

template <typename Members>
void describe(Members& members, const ExplainedProblem&) {
  using P = ExplainedProblem;
  constexpr IntegerBounds kSizes{1, std::int64_t{1} << 20}, kTokens{1, std::int64_t{1} << 31};
  members.group("What neither names nor grids tell");
  members.add("seqlen", &P::seqlen,
              {.flags = "-i,--seqlen,--input", .help = "Queries [as the grid tells]", .range = kTokens});
  members.add("seqlen_k", &P::seqlen_k,
              {.help = "Keys [as the sectors tell, else as many as queries]", .range = kTokens});
  members.add("heads", &P::heads,
              {.flags = "-n,--heads",
               .help = "Heads [as the grid or the sectors tell]",
               .range = {1, kMaxHeads}});
  members.add("heads_kv", &P::heads_kv,
              {.help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  members.add("batch_size", &P::batch,
              {.flags = "-b,--batch-size",
               .help = "Batch size [as the grid tells, else 1]",
               .range = {1, kMaxBatch}});
  members.add("head_dim", &P::head_dim,
              {.flags = "-d,--dim,--head-dim",
               .value = "D",
               .help = "Head dim [as the name tells]",
               .range = kSizes});
  members.choose("causal", &P::causal, std::optional<bool>(true),
                 {.flags = "-c,--causal", .help = "The mask was causal [as the name or the sectors tell]"});
  members.add("dtype", &P::dtype,
              {.value = "TYPE", .help = "Element type [as the name tells, else bf16]"});
  members.add("q_tile", &P::q_tile, {.help = "Q tile in tokens [as the name tells]", .range = kSizes});
  members.add("kv_tile", &P::kv_tile, {.help = "KV tile in tokens [as the name tells]", .range = kSizes});
}

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::KnownFrom> {
  static constexpr const char* kConcept = "known-from";
  static constexpr Name<study::KnownFrom> kTable[] = {
      {study::KnownFrom::kName, "name"},       {study::KnownFrom::kGrid, "grid"},
      {study::KnownFrom::kFamily, "family"},   {study::KnownFrom::kGiven, "given"},
      {study::KnownFrom::kSectors, "sectors"}, {study::KnownFrom::kReads, "reads"},
      {study::KnownFrom::kFile, "file"},       {study::KnownFrom::kAssumed, "assumed"},
      {study::KnownFrom::kGuessed, "guessed"}};
};

}  // namespace natten_sim
