#include "commands/rows/reuse_flags.hpp"

#include <fmt/format.h>

namespace natten_sim::cli {

using study::AttentionSubject;
using study::ReuseQuestion;
using study::SeqlenSweep;

namespace {

constexpr IntegerBounds kSizes{1, std::int64_t{1} << 20};
constexpr IntegerBounds kBytes{1, std::int64_t{1} << 50};

Options<AttentionSubject> attention_rows() {
  Options<AttentionSubject> rows;
  rows.add("-d,--dim,--head-dim", &AttentionSubject::head_dim,
           {.value = "D", .help = "Head dim of Q and K [default]", .range = kSizes, .key = "head_dim"});
  rows.add("--dim-value", &AttentionSubject::dim_value,
           {.value = "D", .help = "Head dim of V and O [that of Q and K]", .range = kSizes});
  rows.add("--dtype", &AttentionSubject::dtype, {.value = "TYPE", .help = "Element type [default]"});
  rows.add("--q-tile", &AttentionSubject::q_tile, {.value = "N", .help = "Q tile [the kernel's, or 128]"});
  rows.add("--kv-tile", &AttentionSubject::kv_tile, {.value = "N", .help = "KV tile [the kernel's, or 128]"});
  rows.add("-n,--heads", &AttentionSubject::heads,
           {.value = "N", .help = "Heads [default]", .range = kSizes});
  rows.add("--heads-kv", &AttentionSubject::heads_kv,
           {.value = "N", .help = "KV heads, a divisor of the heads [heads]", .range = kSizes});
  rows.add("-b,--batch-size", &AttentionSubject::batch,
           {.value = "N", .help = "Batch size [default]", .range = kSizes});
  rows.add("-c,--causal", &AttentionSubject::causal, {.help = "Causal mask, on every axis"});
  rows.add("-w,--window,--window-size", &AttentionSubject::window,
           {.value = "N", .help = "Neighborhood window [the whole axis: dense]"});
  rows.add("-s,--stride", &AttentionSubject::stride, {.value = "N", .help = "Stride of the window [1]"});
  rows.add("--kernel", &AttentionSubject::kernel,
           {.value = "NAME",
            .help = "Take tiles, schedule, order, CTAs an SM and speed of a known kernel (fa2, cudnn)"});
  rows.add("--schedule", &AttentionSubject::schedule,
           {.value = "KIND",
            .help = "Which CTA takes which Q tile. persistent: round-robin; grid: a free CTA takes the next "
                    "one; tile: as grid, two Q tiles at a time [the kernel's, or persistent]"});
  rows.choose("--interleave-heads", &AttentionSubject::launch, LaunchOrder::kHeadsFirst,
              {.help = "Launch the heads and batches of one Q tile before the next Q tile"});
  rows.add("--longest-first", &AttentionSubject::longest_first,
           {.help = "Launch the last Q tile of a head first"});
  rows.add("--ctas-per-sm", &AttentionSubject::ctas_per_sm,
           {.value = "N", .help = "CTAs resident on an SM [the kernel's, or 1]", .range = {1, 32}});
  return rows;
}

/// One of the two has a value.
Options<ReuseFlags> length_rows() {
  Options<ReuseFlags> rows;
  rows.add("-i,--seqlen,--input", &ReuseFlags::seqlen,
           {.value = "N", .help = "Sequence length, or a layout of 1 to 4 axes", .echo = Echo::kWhenSet});
  rows.add("--sweep", &ReuseFlags::sweep,
           {.value = "seqlen=LO:HI:STEP",
            .help = "Answer for many sequence lengths",
            .echo = Echo::kWhenSet,
            .rules_out = {{"seqlen"}}});
  return rows;
}

/// Attention and streams have workers, each its own.
template <typename Q>
Options<Q> worker_rows() {
  Options<Q> rows;
  rows.add("--workers", &Q::workers,
           {.value = "N",
            .help = "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]",
            .range = kSizes});
  return rows;
}

Options<ReuseQuestion> order_rows() {
  Options<ReuseQuestion> rows;
  rows.add("--order", &ReuseQuestion::order,
           {.value = "ORDER",
            .help = "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file with a permutation "
                    "on each line [the kernel's, or cyclic]",
            .echo = Echo::kWhenSet});
  rows.add("--compare", &ReuseQuestion::compare,
           {.value = "ORDER",
            .help = "Answer for a second order too, with the reduction",
            .echo = Echo::kWhenSet});
  return rows;
}

Options<ReuseQuestion> device_rows() {
  Options<ReuseQuestion> rows;
  rows.add("--device", &ReuseQuestion::device,
           {.value = "NAME", .help = "Cache and speed of a GPU (see list devices)", .rules_out = {{"sms"}}});
  rows.add("--l2-bytes", &ReuseQuestion::capacity_bytes,
           {.value = "N", .help = "Effective capacity of the L2 [the device's]", .range = kBytes});
  rows.add("--sector-bytes", &ReuseQuestion::sector_bytes,
           {.value = "N", .help = "Bytes of a sector [the device's, or 32]", .range = kSizes});
  rows.add("--sms", &ReuseQuestion::sms,
           {.value = "N", .help = "Number of SMs [the device's, or 1]", .range = kSizes});
  rows.add_key("line_bytes", &ReuseQuestion::line_bytes, {.echo = Echo::kWhenSet});
  return rows;
}

Options<study::SetAssociative> set_rows() {
  using study::SetAssociative;
  const Need ways{"ways", "--ways N too"};
  Options<SetAssociative> rows;
  rows.add("--replacement", &SetAssociative::replacement,
           {.value = "KIND", .help = "With --ways: replacement in a full set [default]", .needs = {ways}});
  rows.choose("--hashed", &SetAssociative::index, SetIndex::kHashed,
              {.help = "With --ways: choose sets by a hash of the line, not by its number", .needs = {ways}});
  return rows;
}

Options<ReuseFlags> method_rows() {
  Options<ReuseFlags> rows;
  rows.add("--fidelity", &ReuseFlags::fidelity,
           {.value = "KIND",
            .help = "closed-form: sectors, and misses where a formula is exact; lru: lockstep in front of "
                    "an exact LRU; timed: CTAs simulated in time [closed-form; for a trace, lru]"});
  rows.add("--granularity", &ReuseFlags::granularity,
           {.value = "KIND",
            .help = fmt::format("lru: a stack distance for each tile or for each sector [{}]",
                                to_string(study::LruReplay{}.granularity)),
            .echo = Echo::kWhenSet});
  rows.add("--ways", &ReuseFlags::ways,
           {.value = "N",
            .help = "lru: a set-associative cache of N ways instead of a fully associative one",
            .range = {1, 64},
            .echo = Echo::kWhenSet});
  rows.add("--jitter", &ReuseFlags::jitter,
           {.value = "X",
            .help = "timed: standard deviation of a tile's compute time, as a fraction [the kernel's, or 0]",
            .interval = {0, 0.5},
            .accepted = "a fraction in 0..0.5",
            .echo = Echo::kWhenSet});
  rows.add("--sample", &ReuseFlags::sample,
           {.value = "RATE",
            .help = "lru: follow only this share of the sectors of a stream or trace, 0..1; the misses then "
                    "have a standard error",
            .interval = {1e-9, 1},
            .accepted = "a rate in 0 < R <= 1",
            .echo = Echo::kWhenSet});
  return rows;
}

void put_length(const Extents& seqlen, ReuseFlags& flags) { flags.seqlen = seqlen; }
void put_length(const SeqlenSweep& sweep, ReuseFlags& flags) { flags.sweep = sweep; }

/// The flags that ask for `method`.
ReuseFlags flags_of(const study::ReuseMethod& method) {
  ReuseFlags flags;
  flags.fidelity = study::fidelity_of(method);
  if (const auto* timed = std::get_if<study::TimedRun>(&method)) flags.jitter = timed->jitter;
  const auto* replay = std::get_if<study::LruReplay>(&method);
  if (replay == nullptr) return flags;
  flags.granularity = replay->granularity;
  if (const auto* sample = std::get_if<study::SampledLru>(&replay->cache)) flags.sample = sample->rate;
  if (const auto* sets = std::get_if<study::SetAssociative>(&replay->cache)) {
    flags.ways = sets->ways;
    flags.sets = *sets;
  }
  return flags;
}

Options<study::StreamSubject> stream_rows() {
  Options<study::StreamSubject> rows;
  rows.add("--passes", &study::StreamSubject::passes,
           {.value = "P",
            .help = "Number of times that the buffer is read [default]",
            .range = {1, std::int64_t{1} << 40},
            .needs = {{"stream-bytes", "--stream-bytes N too"}}});
  return rows;
}

Options<ReuseFlags> subject_rows() {
  Options<ReuseFlags> rows;
  const std::vector<std::string> attention_only = {
      "seqlen", "dim",         "dim-value",  "dtype",       "q-tile",           "kv-tile",       "tile",
      "heads",  "heads-kv",    "batch-size", "causal",      "window",           "stride",        "schedule",
      "kernel", "ctas-per-sm", "sweep",      "granularity", "interleave-heads", "longest-first", "jitter"};
  std::vector<std::string> not_of_traces = attention_only;
  not_of_traces.insert(not_of_traces.end(), {"stream-bytes", "order", "compare", "workers"});
  rows.add("--stream-bytes", &ReuseFlags::stream_bytes,
           {.value = "N",
            .help = "A plain buffer of N bytes that all workers read, instead of attention",
            .range = kBytes,
            .echo = Echo::kWhenSet,
            .rules_out = {attention_only}});
  rows.add("--trace", &ReuseFlags::trace,
           {.value = "FILE",
            .help = "A trace instead of attention, - for standard input: on each line a byte address and, if "
                    "not one sector, a size",
            .echo = Echo::kWhenSet,
            .rules_out = {not_of_traces}});
  return rows;
}

/// The rows of the flags that ask for `subject`.
Json subject_input(const study::ReuseSubject& subject) {
  ReuseFlags flags;
  if (const auto* trace = std::get_if<study::TraceSubject>(&subject)) {
    flags.trace = trace->name;
    return subject_rows().echo(flags);
  }
  if (const auto* stream = std::get_if<study::StreamSubject>(&subject)) {
    flags.stream_bytes = stream->bytes;
    Json input = subject_rows().echo(flags);
    input.update(stream_rows().echo(*stream));
    input.update(worker_rows<study::StreamSubject>().echo(*stream));
    return input;
  }
  const auto& attention = std::get<AttentionSubject>(subject);
  std::visit([&](const auto& length) { put_length(length, flags); }, attention.seqlen);
  Json input = length_rows().echo(flags);
  input.update(attention_rows().echo(attention));
  input.update(worker_rows<AttentionSubject>().echo(attention));
  return input;
}

}  // namespace

Options<ReuseFlags> reuse_rows() {
  Options<ReuseFlags> rows;
  rows.include(length_rows());
  rows.include(attention_rows(), &ReuseFlags::attention);
  rows.add("--tile", &ReuseFlags::tile, {.value = "N", .help = "Shape of both tiles", .echo = Echo::kNever});
  rows.include(worker_rows<ReuseFlags>());
  rows.include(order_rows(), &ReuseFlags::question);
  rows.include(device_rows(), &ReuseFlags::question);
  rows.include(device_file_rows(), &ReuseFlags::files);
  rows.include(method_rows());
  rows.include(set_rows(), &ReuseFlags::sets);
  rows.include(subject_rows());
  rows.include(stream_rows(), &ReuseFlags::stream);
  rows.include(reuse_picture_rows());
  RuledOut others{{"csv"}};
  for (const auto& row : rows.rows()) {
    if (row.spec.flags.empty()) continue;
    const std::string name = row.spec.name();
    if (name != "device" && name != "device-file" && name != "l2-bytes" && name != "jitter")
      others.options.push_back(name);
  }
  rows.add("--predictions", &ReuseFlags::predictions,
           {.help = "Print the table of predictions for fa2 and cudnn on --device [h200] as a JSON array",
            .echo = Echo::kNever,
            .rules_out = others});
  return rows.include(output_rows(), &ReuseFlags::output);
}

Json reuse_input(const ReuseQuestion& question) {
  Json input = subject_input(question.subject);
  ReuseFlags method = flags_of(*question.method);
  if (!std::holds_alternative<AttentionSubject>(question.subject)) method.granularity.reset();
  ReuseQuestion cache = question;
  if (!method.ways) cache.line_bytes.reset();
  input.update(order_rows().echo(question));
  input.update(device_rows().echo(cache));
  input.update(method_rows().echo(method));
  if (method.ways) input.update(set_rows().echo(method.sets));
  return input;
}

}  // namespace natten_sim::cli
