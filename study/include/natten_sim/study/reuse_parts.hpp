#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/study/describe/given_mask.hpp>
#include <natten_sim/study/describe/members.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// A ReuseQuestion taken apart: the members of all subjects and methods side by side, as whoever reads them
/// by name has them, from options, keywords or the keys of a file.
///
///     ReuseParts parts;
///     parts.seqlen = Extents{131072};
///     parts.fidelity = Fidelity::kLru;
///     ReuseAnswer answer = reuse(question_of(parts), default_context());
struct ReuseParts {
  ReuseQuestion question;  ///< without subject and method

  AttentionSubject attention;     ///< without its length and workers
  std::optional<Extents> seqlen;  ///< of attention, which has this, `sweep` or a mask that brings its tokens
  std::optional<SeqlenSweep> sweep;
  std::optional<Extents> tile;          ///< both tiles, where `attention` has none of its own
  std::optional<std::int64_t> workers;  ///< of attention or of a stream
  std::optional<std::int64_t> stream_bytes;
  StreamSubject stream;              ///< without its bytes and workers
  std::optional<std::string> trace;  ///< a file, as trace_file() takes it

  std::optional<Fidelity> fidelity;  ///< none: as ReuseQuestion::method
  std::optional<Granularity> granularity;
  std::optional<std::int32_t> ways;
  SetAssociative sets;  ///< with `ways`
  std::optional<double> sample, jitter;
  std::optional<std::uint64_t> seed;  ///< of a method that draws numbers
};

/// The question that the parts ask.
/// @throws InvalidParameter unless there is one subject, and for parts of a method that was not chosen.
[[nodiscard]] ReuseQuestion question_of(const ReuseParts& parts);

/// The parts of an answered question: what question_of() makes into it again. Parts that its subject and
/// method do not have are empty, or as they are by default.
[[nodiscard]] ReuseParts parts_of(const ReuseQuestion& question);

/// The accesses in the file `path` (- is standard input), in the format of io's read_trace(). It is read when
/// the question is answered.
[[nodiscard]] TraceSubject trace_file(const std::string& path);

[[nodiscard]] std::vector<std::string> reuse_order_names();

/// An order by its name, or a file (- is standard input) with a permutation of the KV tiles on each line.
/// @throws UnknownName naming `parameter` when `text` is neither; MalformedData for a line of the file.
[[nodiscard]] ReuseOrder parse_reuse_order(const std::string& parameter, const std::string& text);

inline constexpr IntegerBounds kReuseSizes{1, std::int64_t{1} << 20};
inline constexpr IntegerBounds kReuseLengths{1, std::int64_t{1} << 40};
inline constexpr IntegerBounds kReuseBytes{1, std::int64_t{1} << 50};

/// One of the two has a value.
template <typename Members>
void describe_lengths(Members& members) {
  members.group("Problem");
  members.add("seqlen", &ReuseParts::seqlen,
              {.flags = "-i,--seqlen,--input",
               .help = "Sequence length, or a layout of 1 to 4 axes",
               .echo = Echo::kWhenSet});
  members.add("sweep", &ReuseParts::sweep,
              {.value = "seqlen=LO:HI:STEP",
               .help = "Answer for the sequence lengths LO, LO + STEP, .. up to HI",
               .echo = Echo::kWhenSet,
               .rules_out = {{"seqlen"}}});
}

template <typename Members>
void describe_kernel(Members& members, const AttentionSubject&) {
  using A = AttentionSubject;
  members.group("Kernel: which CTA reads what, in which order");
  members.add("kernel", &A::kernel,
              {.help = "Take tiles, schedule, order, CTAs per SM and speed of a known kernel, or of a kernel file (FILE.json)",
               .names = NamesOfCatalog::kKernels});
  members.add("schedule", &A::schedule,
              {.value = "KIND",
               .help = "Which CTA takes which Q tile. persistent: round-robin; grid: a free CTA takes the next "
                       "one; tile: as grid, two Q tiles at a time " +
                       default_text("the kernel's", kReuseDefaults.schedule)});
  members.choose("interleave_heads", &A::launch, LaunchOrder::kHeadsFirst,
                 {.help = "Launch the heads and batches of one Q tile before the next Q tile"});
  members.add("longest_first", &A::longest_first, {.help = "Launch the last Q tile of a head first"});
  members.add("ctas_per_sm", &A::ctas_per_sm,
              {.help = "CTAs resident on an SM " + default_text("the kernel's", kReuseDefaults.ctas_per_sm),
               .range = {1, 32}});
}

template <typename Members>
void describe(Members& members, const AttentionSubject& attention) {
  using A = AttentionSubject;
  members.group("Problem");
  members.add("seqlen_k", &A::seqlen_k,
              {.help = "Number of keys, if different from the number of queries; the last query of a causal "
                       "mask attends to the last key [as many]",
               .range = kReuseLengths,
               .echo = Echo::kWhenSet});
  members.add("head_dim", &A::head_dim,
              {.flags = "-d,--dim,--head-dim",
               .value = "D",
               .help = "Head dim of Q and K [default]",
               .range = kReuseSizes});
  members.add("dim_value", &A::dim_value,
              {.value = "D", .help = "Head dim of V and O [that of Q and K]", .range = kReuseSizes});
  members.add("dtype", &A::dtype, {.value = "TYPE", .help = "Element type [default]"});
  members.add("q_tile", &A::q_tile,
              {.help = "Q tile in tokens " + default_text("the kernel's", kReuseDefaults.tile)});
  members.add("kv_tile", &A::kv_tile,
              {.help = "KV tile in tokens " + default_text("the kernel's", kReuseDefaults.tile)});
  members.add("heads", &A::heads, {.flags = "-n,--heads", .help = "Heads [default]", .range = {1, kMaxHeads}});
  members.add("heads_kv", &A::heads_kv,
              {.help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  members.add("batch_size", &A::batch,
              {.flags = "-b,--batch-size", .help = "Batch size [default]", .range = {1, kMaxBatch}});
  members.add("causal", &A::causal,
              {.flags = "-c,--causal", .help = "Causal axes, one value for all or per axis [default]"});
  members.add("window", &A::window,
              {.flags = "-w,--window,--window-size", .help = "Neighborhood window [the whole axis: dense]"});
  members.add("stride", &A::stride,
              {.flags = "-s,--stride", .help = "Stride of the window " + axis_default(&AxisMask::stride)});
  members.add("mask", &A::mask,
              {.value = "MASK",
               .help = std::string("Any other mask of one axis: ") + kGivenMaskHelp,
               .echo = Echo::kWhenSet,
               .rules_out = {{"window", "stride", "causal", "sweep"}}});
  describe_kernel(members, attention);
}

template <typename Members>
void describe_workers(Members& members) {
  members.group("Kernel: which CTA reads what, in which order");
  members.add("workers", &ReuseParts::workers,
              {.help = "CTAs resident at once [SMs times CTAs per SM]; readers of a stream [SMs]",
               .range = kReuseSizes});
}

template <typename Members>
void describe_orders(Members& members) {
  using Q = ReuseQuestion;
  members.group("Kernel: which CTA reads what, in which order");
  members.add("order", &Q::order,
              {.value = "ORDER",
               .help = "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file (up to 256 MiB) "
                       "with a permutation on each line " +
                       default_text("the kernel's", kReuseDefaults.order),
               .echo = Echo::kWhenSet,
               .suggestions = reuse_order_names});
  members.add("compare", &Q::compare,
              {.value = "ORDER",
               .help = "Answer for a second order too, with the reduction",
               .echo = Echo::kWhenSet,
               .suggestions = reuse_order_names});
}

template <typename Members>
void describe_caches(Members& members) {
  using Q = ReuseQuestion;
  members.group("Device");
  members.add("device", &Q::device,
              {.help = "Cache and speed of a GPU", .names = NamesOfCatalog::kDevices});
  members.add("l2_bytes", &Q::capacity_bytes,
              {.help = "Effective capacity of the L2 [the device's]", .range = kReuseBytes});
  members.add("sector_bytes", &Q::sector_bytes,
              {.help = "Bytes of a sector " + default_text("the device's", kReuseDefaults.sector_bytes),
               .range = kReuseSizes});
  members.add("sms", &Q::sms,
              {.help = "Number of SMs " + default_text("the device's", kReuseDefaults.sms),
               .range = kReuseSizes});
  members.key("line_bytes", &Q::line_bytes, {.echo = Echo::kWhenSet});
}

/// The setting of a set-associative cache, which --ways asks for.
template <typename Members>
void describe(Members& members, const SetAssociative&) {
  members.add("replacement", &SetAssociative::replacement,
              {.value = "KIND", .help = "With {ways}: replacement in a full set [default]", .needs = {"ways"}});
  members.choose("hashed", &SetAssociative::index, SetIndex::kHashed,
                 {.help = "With {ways}: choose sets by a hash of the line, not by its number", .needs = {"ways"}});
}

template <typename Members>
void describe_method(Members& members) {
  using P = ReuseParts;
  members.group("How it is computed");
  members.add("fidelity", &P::fidelity,
              {.value = "KIND",
               .help = std::string("closed-form: sectors, and misses where a formula is exact; lru: lockstep in "
                                   "front of an exact LRU; timed: CTAs simulated in time [") +
                       to_string(default_fidelity(false)) + "; for a trace, " +
                       to_string(default_fidelity(true)) + "]"});
  members.add("granularity", &P::granularity,
              {.value = "KIND",
               .help = "lru: a stack distance for each tile or for each sector " +
                       default_text(LruReplay{}.granularity),
               .echo = Echo::kWhenSet});
  members.add("ways", &P::ways,
              {.help = "lru: a set-associative cache of N ways instead of a fully associative one",
               .range = {1, 64},
               .echo = Echo::kWhenSet});
  members.add("jitter", &P::jitter,
              {.value = "X",
               .help = "timed: standard deviation of a tile's compute time, as a fraction in 0..0.5 " +
                       default_text("the kernel's", MeasuredPace{}.jitter),
               .interval = {0, 0.5},
               .accepted = "a fraction in 0..0.5",
               .echo = Echo::kWhenSet});
  members.add("sample", &P::sample,
              {.value = "RATE",
               .help = "lru: follow only this share of the sectors of a stream or trace, 0..1; the misses then "
                       "have a standard error [all]",
               .interval = {1e-9, 1},
               .accepted = "a rate in 0 < R <= 1",
               .echo = Echo::kWhenSet});
  members.add("seed", &P::seed,
              {.help = "timed, {sample}, {replacement} random: seed of what is drawn " +
                       default_text(TimedRun{}.seed),
               .range = {0, std::int64_t{1} << 62},
               .echo = Echo::kWhenSet});
}

/// What is read instead of attention.
template <typename Members>
void describe_other_subjects(Members& members) {
  const std::vector<std::string> attention_only = {
      "seqlen",   "seqlen_k", "head_dim",    "dim_value",  "dtype",       "q_tile",           "kv_tile",
      "tile",     "heads",    "heads_kv",    "batch_size", "causal",      "window",           "stride",
      "schedule", "kernel",   "ctas_per_sm", "sweep",      "granularity", "interleave_heads", "longest_first",
      "jitter",   "mask"};
  std::vector<std::string> not_of_traces = attention_only;
  not_of_traces.insert(not_of_traces.end(), {"stream_bytes", "order", "compare", "workers"});
  members.group("Streams and traces");
  members.add("stream_bytes", &ReuseParts::stream_bytes,
              {.help = "A plain buffer of N bytes that all workers read, instead of attention",
               .range = kReuseBytes,
               .echo = Echo::kWhenSet,
               .rules_out = {attention_only}});
  members.add("trace", &ReuseParts::trace,
              {.value = "FILE",
               .help = "A trace instead of attention, - for standard input: on each line a byte address and, if "
                       "not one sector, a size",
               .echo = Echo::kWhenSet,
               .rules_out = {not_of_traces}});
}

template <typename Members>
void describe(Members& members, const StreamSubject&) {
  members.group("Streams and traces");
  members.add("passes", &StreamSubject::passes,
              {.value = "P",
               .help = "Number of times that the buffer is read [default]",
               .range = {1, std::int64_t{1} << 40},
               .needs = {"stream_bytes"}});
}

template <typename Members>
void describe(Members& members, const ReuseParts& parts) {
  using P = ReuseParts;
  describe_lengths(members);
  members.part(&P::attention, [&](auto& attention) { describe(attention, parts.attention); });
  members.group("Problem");
  members.add("tile", &P::tile, {.help = "Shape of both tiles [{q_tile} and {kv_tile}]", .echo = Echo::kNever});
  describe_workers(members);
  members.part(&P::question, [](auto& question) {
    describe_orders(question);
    describe_caches(question);
  });
  describe_method(members);
  members.part(&P::sets, [&](auto& sets) { describe(sets, parts.sets); });
  describe_other_subjects(members);
  members.part(&P::stream, [&](auto& stream) { describe(stream, parts.stream); });
}

/// Those that `input` of an answer holds: of its subject and of its method.
template <typename Members>
void describe_answered(Members& members, const ReuseParts& parts) {
  using P = ReuseParts;
  if (parts.trace || parts.stream_bytes) {
    describe_other_subjects(members);
  } else {
    describe_lengths(members);
    members.part(&P::attention, [&](auto& attention) { describe(attention, parts.attention); });
  }
  if (!parts.trace && parts.stream_bytes)
    members.part(&P::stream, [&](auto& stream) { describe(stream, parts.stream); });
  if (!parts.trace) describe_workers(members);
  members.part(&P::question, [](auto& question) {
    describe_orders(question);
    describe_caches(question);
  });
  describe_method(members);
  if (parts.ways) members.part(&P::sets, [&](auto& sets) { describe(sets, parts.sets); });
}

}  // namespace natten_sim::study
