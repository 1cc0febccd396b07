#include "commands/rows/reuse_flags.hpp"

#include <fmt/format.h>

#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/report/default_text.hpp>

namespace natten_sim::cli {

using study::AttentionSubject;
using study::ReuseParts;
using study::ReuseQuestion;
using study::SeqlenSweep;

namespace {

constexpr IntegerBounds kSizes{1, std::int64_t{1} << 20};
constexpr IntegerBounds kLengths{1, std::int64_t{1} << 40};
constexpr IntegerBounds kBytes{1, std::int64_t{1} << 50};
constexpr const study::ReuseDefaults& kDefaults = study::kReuseDefaults;

Options<AttentionSubject> attention_rows() {
  Options<AttentionSubject> rows;
  rows.add(
      "--seqlen-k", &AttentionSubject::seqlen_k,
      {.value = "N",
       .help = "Keys, where they are not as many as queries; the last query of a causal mask attends to the "
               "last key [as many]",
       .range = kLengths,
       .echo = Echo::kWhenSet});
  rows.add("-d,--dim,--head-dim", &AttentionSubject::head_dim,
           {.value = "D", .help = "Head dim of Q and K [default]", .range = kSizes, .key = "head_dim"});
  rows.add("--dim-value", &AttentionSubject::dim_value,
           {.value = "D", .help = "Head dim of V and O [that of Q and K]", .range = kSizes});
  rows.add("--dtype", &AttentionSubject::dtype, {.value = "TYPE", .help = "Element type [default]"});
  rows.add("--q-tile", &AttentionSubject::q_tile,
           {.value = "N", .help = "Q tile " + report::default_text("the kernel's", kDefaults.tile)});
  rows.add("--kv-tile", &AttentionSubject::kv_tile,
           {.value = "N", .help = "KV tile " + report::default_text("the kernel's", kDefaults.tile)});
  rows.add("-n,--heads", &AttentionSubject::heads,
           {.value = "N", .help = "Heads [default]", .range = {1, kMaxHeads}});
  rows.add("--heads-kv", &AttentionSubject::heads_kv,
           {.value = "N", .help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  rows.add("-b,--batch-size", &AttentionSubject::batch,
           {.value = "N", .help = "Batch size [default]", .range = {1, kMaxBatch}});
  rows.add("-c,--causal", &AttentionSubject::causal,
           {.value = "BOOL",
            .help = "Causal mask: alone, on every axis; true/false/1/0, one an axis [default]",
            .bare = "true"});
  rows.add("-w,--window,--window-size", &AttentionSubject::window,
           {.value = "N", .help = "Neighborhood window [the whole axis: dense]"});
  rows.add("-s,--stride", &AttentionSubject::stride,
           {.value = "N", .help = "Stride of the window " + report::axis_default(&AxisMask::stride)});
  rows.group("Problem");
  rows.add("--kernel", &AttentionSubject::kernel,
           {.value = "NAME",
            .help = "Take tiles, schedule, order, CTAs an SM and speed of a known kernel (see list kernels)",
            .suggestions = attention_kernel_names});
  rows.add("--schedule", &AttentionSubject::schedule,
           {.value = "KIND",
            .help = "Which CTA takes which Q tile. persistent: round-robin; grid: a free CTA takes the next "
                    "one; tile: as grid, two Q tiles at a time " +
                    report::default_text("the kernel's", kDefaults.schedule)});
  rows.choose("--interleave-heads", &AttentionSubject::launch, LaunchOrder::kHeadsFirst,
              {.help = "Launch the heads and batches of one Q tile before the next Q tile"});
  rows.add("--longest-first", &AttentionSubject::longest_first,
           {.help = "Launch the last Q tile of a head first"});
  rows.add("--ctas-per-sm", &AttentionSubject::ctas_per_sm,
           {.value = "N",
            .help = "CTAs resident on an SM " + report::default_text("the kernel's", kDefaults.ctas_per_sm),
            .range = {1, 32}});
  return rows.group("Kernel: which CTA reads what, in which order");
}

/// One of the two has a value.
Options<ReuseParts> length_rows() {
  Options<ReuseParts> rows;
  rows.add("-i,--seqlen,--input", &ReuseParts::seqlen,
           {.value = "N", .help = "Sequence length, or a layout of 1 to 4 axes", .echo = Echo::kWhenSet});
  rows.add("--sweep", &ReuseParts::sweep,
           {.value = "seqlen=LO:HI:STEP",
            .help = "Answer for many sequence lengths",
            .echo = Echo::kWhenSet,
            .rules_out = {{"seqlen"}}});
  return rows.group("Problem");
}

Options<ReuseParts> reader_rows() {
  Options<ReuseParts> rows;
  rows.add("--workers", &ReuseParts::workers,
           {.value = "N",
            .help = "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]",
            .range = kSizes});
  return rows.group("Kernel: which CTA reads what, in which order");
}

Options<ReuseQuestion> order_rows() {
  Options<ReuseQuestion> rows;
  rows.add(
      "--order", &ReuseQuestion::order,
      {.value = "ORDER",
       .help = "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file (up to 256 MiB) with a "
               "permutation on each line " +
               report::default_text("the kernel's", kDefaults.order),
       .echo = Echo::kWhenSet,
       .suggestions = study::reuse_order_names});
  rows.add("--compare", &ReuseQuestion::compare,
           {.value = "ORDER",
            .help = "Answer for a second order too, with the reduction",
            .echo = Echo::kWhenSet,
            .suggestions = study::reuse_order_names});
  return rows.group("Kernel: which CTA reads what, in which order");
}

Options<ReuseQuestion> device_rows() {
  Options<ReuseQuestion> rows;
  rows.add("--device", &ReuseQuestion::device,
           {.value = "NAME", .help = "Cache and speed of a GPU (see list devices)", .rules_out = {{"sms"}},
            .suggestions = device_names});
  rows.add("--l2-bytes", &ReuseQuestion::capacity_bytes,
           {.value = "N", .help = "Effective capacity of the L2 [the device's]", .range = kBytes});
  rows.add("--sector-bytes", &ReuseQuestion::sector_bytes,
           {.value = "N",
            .help = "Bytes of a sector " + report::default_text("the device's", kDefaults.sector_bytes),
            .range = kSizes});
  rows.add("--sms", &ReuseQuestion::sms,
           {.value = "N",
            .help = "Number of SMs " + report::default_text("the device's", kDefaults.sms),
            .range = kSizes});
  rows.add_key("line_bytes", &ReuseQuestion::line_bytes, {.echo = Echo::kWhenSet});
  return rows.group("Device");
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

Options<ReuseParts> method_rows() {
  Options<ReuseParts> rows;
  rows.add("--fidelity", &ReuseParts::fidelity,
           {.value = "KIND",
            .help = fmt::format(
                "closed-form: sectors, and misses where a formula is exact; lru: lockstep in front of an "
                "exact LRU; timed: CTAs simulated in time [{}; for a trace, {}]",
                to_string(study::default_fidelity(false)), to_string(study::default_fidelity(true)))});
  rows.add("--granularity", &ReuseParts::granularity,
           {.value = "KIND",
            .help = fmt::format("lru: a stack distance for each tile or for each sector [{}]",
                                to_string(study::LruReplay{}.granularity)),
            .echo = Echo::kWhenSet});
  rows.add("--ways", &ReuseParts::ways,
           {.value = "N",
            .help = "lru: a set-associative cache of N ways instead of a fully associative one",
            .range = {1, 64},
            .echo = Echo::kWhenSet});
  rows.add("--jitter", &ReuseParts::jitter,
           {.value = "X",
            .help = "timed: standard deviation of a tile's compute time, as a fraction in 0..0.5 " +
                    report::default_text("the kernel's", study::MeasuredPace{}.jitter),
            .interval = {0, 0.5},
            .accepted = "a fraction in 0..0.5",
            .echo = Echo::kWhenSet});
  rows.add("--sample", &ReuseParts::sample,
           {.value = "RATE",
            .help = "lru: follow only this share of the sectors of a stream or trace, 0..1; the misses then "
                    "have a standard error",
            .interval = {1e-9, 1},
            .accepted = "a rate in 0 < R <= 1",
            .echo = Echo::kWhenSet});
  rows.add("--seed", &ReuseParts::seed,
           {.value = "N",
            .help = "timed, --sample, --replacement random: seed of what is drawn " +
                    report::default_text(study::TimedRun{}.seed),
            .range = {0, std::int64_t{1} << 62},
            .echo = Echo::kWhenSet});
  return rows;
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

Options<ReuseParts> subject_rows() {
  Options<ReuseParts> rows;
  const std::vector<std::string> attention_only = {
      "seqlen",   "seqlen-k", "dim",         "dim-value",  "dtype",       "q-tile",           "kv-tile",
      "tile",     "heads",    "heads-kv",    "batch-size", "causal",      "window",           "stride",
      "schedule", "kernel",   "ctas-per-sm", "sweep",      "granularity", "interleave-heads", "longest-first",
      "jitter"};
  std::vector<std::string> not_of_traces = attention_only;
  not_of_traces.insert(not_of_traces.end(), {"stream-bytes", "order", "compare", "workers"});
  rows.add("--stream-bytes", &ReuseParts::stream_bytes,
           {.value = "N",
            .help = "A plain buffer of N bytes that all workers read, instead of attention",
            .range = kBytes,
            .echo = Echo::kWhenSet,
            .rules_out = {attention_only}});
  rows.add("--trace", &ReuseParts::trace,
           {.value = "FILE",
            .help = "A trace instead of attention, - for standard input: on each line a byte address and, if "
                    "not one sector, a size",
            .echo = Echo::kWhenSet,
            .rules_out = {not_of_traces}});
  return rows;
}

/// All but those of devices and pictures, in the order of help.
Options<ReuseParts> part_rows() {
  Options<ReuseParts> rows;
  rows.include(length_rows());
  rows.include(attention_rows(), &ReuseParts::attention);
  rows.add("--tile", &ReuseParts::tile, {.value = "N", .help = "Shape of both tiles", .echo = Echo::kNever});
  rows.group("Problem");
  rows.include(reader_rows());
  rows.include(order_rows(), &ReuseParts::question);
  return rows.include(device_rows(), &ReuseParts::question);
}

Options<ReuseParts> way_rows() {
  Options<ReuseParts> rows = method_rows();
  rows.include(set_rows(), &ReuseParts::sets);
  rows.group("How it is computed");
  rows.include(subject_rows());
  rows.include(stream_rows(), &ReuseParts::stream);
  return rows.group("Streams and traces");
}

/// The rows that say what `parts` read.
Options<ReuseParts> rows_of_subject(const ReuseParts& parts) {
  if (parts.trace) return subject_rows();
  Options<ReuseParts> rows;
  if (parts.stream_bytes) {
    rows.include(subject_rows());
    rows.include(stream_rows(), &ReuseParts::stream);
  } else {
    rows.include(length_rows());
    rows.include(attention_rows(), &ReuseParts::attention);
  }
  return rows.include(reader_rows());
}

}  // namespace

Options<ReuseFlags> reuse_rows() {
  Options<ReuseFlags> rows;
  rows.include(part_rows(), &ReuseFlags::parts);
  rows.include(device_file_rows(), &ReuseFlags::files);
  rows.include(way_rows(), &ReuseFlags::parts);
  rows.include(reuse_picture_rows());
  RuledOut others{{"csv"}};
  for (const auto& row : rows.rows()) {
    if (row.spec.flags.empty()) continue;
    const std::string name = row.spec.name();
    if (name != "device" && name != "device-file" && name != "l2-bytes" && name != "jitter")
      others.options.push_back(name);
  }
  rows.add("--predictions", &ReuseFlags::predictions,
           {.help = fmt::format(
                "Print the table of predictions for fa2 and cudnn on --device [{}] as a JSON array",
                kPredictedDevice),
            .echo = Echo::kNever,
            .rules_out = others});
  rows.group("Pictures and tables");
  rows.include(conclusion_rows(), &ReuseFlags::output);
  return rows.include(output_rows(), &ReuseFlags::output);
}

Json reuse_input(const ReuseQuestion& question) {
  const ReuseParts parts = study::parts_of(question);
  Options<ReuseParts> rows = rows_of_subject(parts);
  rows.include(order_rows(), &ReuseParts::question);
  rows.include(device_rows(), &ReuseParts::question);
  rows.include(method_rows());
  if (parts.ways) rows.include(set_rows(), &ReuseParts::sets);
  return rows.echo(parts);
}

}  // namespace natten_sim::cli
