#include "commands/reuse_flags.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/permutations.hpp>
#include <natten_sim/io/trace.hpp>

#include "cli/values.hpp"

namespace natten_sim::cli {

using study::AttentionSubject;
using study::ReuseOrder;
using study::ReuseQuestion;
using study::SeqlenSweep;

namespace {

std::string json_word(const std::string& key, const Json& value, const char* accepted) {
  if (!value.is_string()) throw InvalidParameter(key, value.dump(), accepted);
  return value.get<std::string>();
}

bool is_file(const std::string& path) {
  std::error_code unknown;
  return path == "-" ||
         (std::filesystem::exists(path, unknown) && !std::filesystem::is_directory(path, unknown));
}

study::ReuseSubject subject_of(const ReuseFlags& flags) {
  if (flags.trace) {
    return study::TraceSubject{.name = *flags.trace,
                               .feed = [path = *flags.trace](const auto& visit, const auto& progress) {
                                 read_trace(path, visit, progress);
                               }};
  }
  if (flags.stream_bytes)
    return study::StreamSubject{
        .bytes = *flags.stream_bytes, .passes = flags.passes, .workers = flags.workers};
  if (!flags.seqlen && !flags.sweep)
    throw InvalidParameter("seqlen", "not given", "--seqlen N, --sweep, --stream-bytes or --trace");
  AttentionSubject subject = flags.attention;
  if (flags.sweep) {
    subject.seqlen = *flags.sweep;
  } else {
    subject.seqlen = *flags.seqlen;
  }
  if (!subject.q_tile) subject.q_tile = flags.tile;
  if (!subject.kv_tile) subject.kv_tile = flags.tile;
  subject.workers = flags.workers;
  return subject;
}

study::ReuseMethod method_of(const ReuseFlags& flags) {
  const Fidelity fidelity = flags.fidelity.value_or(flags.trace ? Fidelity::kLru : Fidelity::kClosedForm);
  const auto needs = [&](const char* option, bool given, Fidelity needed) {
    if (!given || fidelity == needed) return;
    throw InvalidParameter(option, fmt::format("with --fidelity {}", to_string(fidelity)),
                           fmt::format("--fidelity {}", to_string(needed)));
  };
  needs("ways", flags.ways.has_value(), Fidelity::kLru);
  needs("granularity", flags.granularity.has_value(), Fidelity::kLru);
  needs("sample", flags.sample.has_value(), Fidelity::kLru);
  needs("jitter", flags.jitter.has_value(), Fidelity::kTimed);
  if (flags.sample && flags.ways)
    throw InvalidParameter("sample", "given together with --ways", "one of the two");
  if (fidelity == Fidelity::kTimed) return study::TimedRun{flags.jitter};
  if (fidelity == Fidelity::kClosedForm) return study::ClosedForm{};
  study::LruReplay replay{.granularity = flags.granularity.value_or(Granularity::kTile)};
  if (flags.sample) replay.cache = study::SampledLru{*flags.sample};
  if (flags.ways) {
    study::SetAssociative sets = flags.sets;
    sets.ways = *flags.ways;
    replay.cache = sets;
  }
  return replay;
}

constexpr IntegerBounds kSizes{1, std::int64_t{1} << 20};
constexpr IntegerBounds kBytes{1, std::int64_t{1} << 50};

void add_attention_rows(Options<ReuseFlags>& rows) {
  const auto of = [](auto member) { return path(&ReuseFlags::attention, member); };
  rows.add("-i,--seqlen,--input", &ReuseFlags::seqlen,
           {.value = "N", .help = "Sequence length, or a layout of 1 to 4 axes"});
  rows.add("-d,--dim,--head-dim", of(&AttentionSubject::head_dim),
           {.value = "D", .help = "Head dim of Q and K [64]", .range = kSizes});
  rows.add("--dim-value", of(&AttentionSubject::dim_value),
           {.value = "D", .help = "Head dim of V and O [that of Q and K]", .range = kSizes});
  rows.add("--dtype", of(&AttentionSubject::dtype), {.value = "TYPE", .help = "Element type [fp16]"});
  rows.add("--q-tile", of(&AttentionSubject::q_tile),
           {.value = "N", .help = "Q tile [the kernel's, or 128]"});
  rows.add("--kv-tile", of(&AttentionSubject::kv_tile),
           {.value = "N", .help = "KV tile [the kernel's, or 128]"});
  rows.add("--tile", &ReuseFlags::tile, {.value = "N", .help = "Both tiles"});
  rows.add("-n,--heads", of(&AttentionSubject::heads), {.value = "N", .help = "Heads [1]", .range = kSizes});
  rows.add("--heads-kv", of(&AttentionSubject::heads_kv),
           {.value = "N", .help = "KV heads, a divisor of the heads [heads]", .range = kSizes});
  rows.add("-b,--batch-size", of(&AttentionSubject::batch),
           {.value = "N", .help = "Batch size [1]", .range = kSizes});
  rows.add("-c,--causal", of(&AttentionSubject::causal), {.help = "Causal mask, on every axis"});
  rows.add("-w,--window,--window-size", of(&AttentionSubject::window),
           {.value = "N", .help = "Neighborhood window [the whole axis: dense]"});
  rows.add("-s,--stride", of(&AttentionSubject::stride), {.value = "N", .help = "Stride of the window [1]"});
  rows.add("--kernel", of(&AttentionSubject::kernel),
           {.value = "NAME",
            .help = "Take tiles, schedule, order, CTAs an SM and speed of a known kernel (fa2, cudnn)"});
  rows.add("--schedule", of(&AttentionSubject::schedule),
           {.value = "KIND",
            .help = "Which CTA takes which Q tile: persistent round-robin; grid: launch order, or an atomic "
                    "counter; tile: two Q tiles at a time [the kernel's, or persistent]"});
}

void add_order_rows(Options<ReuseFlags>& rows) {
  rows.add("--order", path(&ReuseFlags::question, &ReuseQuestion::order),
           {.value = "ORDER",
            .help = "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file with a permutation "
                    "a line [the kernel's, or cyclic]"});
  rows.add("--compare", path(&ReuseFlags::question, &ReuseQuestion::compare),
           {.value = "ORDER", .help = "A second order beside the first, with the reduction"});
  rows.choose("--interleave-heads", path(&ReuseFlags::attention, &AttentionSubject::launch),
              LaunchOrder::kHeadsFirst,
              {.help = "Launch the heads and batches of one Q tile before the next Q tile"});
  rows.add("--longest-first", path(&ReuseFlags::attention, &AttentionSubject::longest_first),
           {.help = "Launch the last Q tile of a head first"});
  rows.add("--workers", &ReuseFlags::workers,
           {.value = "N",
            .help = "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]",
            .range = kSizes});
  rows.add("--ctas-per-sm", path(&ReuseFlags::attention, &AttentionSubject::ctas_per_sm),
           {.value = "N", .help = "CTAs resident on an SM [the kernel's, or 1]", .range = {1, 32}});
}

void add_device_rows(Options<ReuseFlags>& rows) {
  const auto of = [](auto member) { return path(&ReuseFlags::question, member); };
  rows.add("--device", of(&ReuseQuestion::device),
           {.value = "NAME", .help = "Cache and speed of a GPU (see list devices)", .rules_out = {{"sms"}}});
  rows.include(device_file_rows(), &ReuseFlags::files);
  rows.add("--l2-bytes", of(&ReuseQuestion::capacity_bytes),
           {.value = "N", .help = "Effective capacity of the L2 [the device's]", .range = kBytes});
  rows.add("--sector-bytes", of(&ReuseQuestion::sector_bytes),
           {.value = "N", .help = "Sector [the device's, or 32]", .range = kSizes});
  rows.add("--sms", of(&ReuseQuestion::sms),
           {.value = "N", .help = "SMs [the device's, or 1]", .range = kSizes});
}

void add_method_rows(Options<ReuseFlags>& rows) {
  const Need ways{"ways", "--ways N too"};
  rows.add("--fidelity", &ReuseFlags::fidelity,
           {.value = "KIND",
            .help = "closed-form: sectors always, misses where a formula is exact; lru: lockstep in front of "
                    "an exact LRU; timed: CTAs in time [closed-form; of a trace, lru]"});
  rows.add("--granularity", &ReuseFlags::granularity,
           {.value = "KIND", .help = "lru: one stack distance a tile, or a sector [tile]"});
  rows.add("--ways", &ReuseFlags::ways,
           {.value = "N",
            .help = "lru: a set-associative cache of N ways instead of a fully associative one",
            .range = {1, 64}});
  rows.add("--replacement", path(&ReuseFlags::sets, &study::SetAssociative::replacement),
           {.value = "KIND", .help = "With --ways: what makes room in a set [lru]", .needs = {ways}});
  rows.choose("--hashed", path(&ReuseFlags::sets, &study::SetAssociative::index), SetIndex::kHashed,
              {.help = "With --ways: sets by a hash of the line instead of its number", .needs = {ways}});
  rows.add("--jitter", &ReuseFlags::jitter,
           {.value = "X",
            .help = "timed: standard deviation of a tile's compute time, as a fraction [the kernel's, or 0]",
            .interval = {0, 0.5},
            .accepted = "a fraction in 0..0.5"});
}

void add_subject_rows(Options<ReuseFlags>& rows) {
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
            .rules_out = {attention_only}});
  rows.add("--passes", &ReuseFlags::passes,
           {.value = "P",
            .help = "How often the buffer is read [1]",
            .range = {1, std::int64_t{1} << 40},
            .needs = {{"stream-bytes", "--stream-bytes N too"}}});
  rows.add("--trace", &ReuseFlags::trace,
           {.value = "FILE",
            .help = "A trace of yours, - for standard input: a byte address and, if not one sector, a size a "
                    "line",
            .rules_out = {not_of_traces}});
  rows.add("--sample", &ReuseFlags::sample,
           {.value = "RATE",
            .help = "Follow only this share of the sectors of a stream or trace, 0..1; misses with their "
                    "error",
            .interval = {1e-9, 1},
            .accepted = "a rate in 0 < R <= 1"});
  rows.add("--sweep", &ReuseFlags::sweep,
           {.value = "seqlen=LO:HI:STEP",
            .help = "The same for many sequence lengths",
            .rules_out = {{"seqlen"}}});
}

}  // namespace

ReuseOrder OptionValue<ReuseOrder>::from_words(const std::string& name, const std::vector<std::string>& words,
                                               const About&) {
  const std::string& text = words.front();
  for (const KvOrder order : values_of<KvOrder>()) {
    if (text == to_string(order)) return order;
  }
  if (text == study::kBestOrderName) return study::BestOrder{};
  if (is_file(text))
    return study::OwnOrder{text, parse_permutations(read_file(name, text), name + " " + text)};
  std::vector<std::string> names = names_of<KvOrder>();
  names.emplace_back(study::kBestOrderName);
  throw UnknownName(name, text, closest_name(text, names), joined(names) + ", or a readable file");
}

ReuseOrder OptionValue<ReuseOrder>::from_json(const std::string& key, const Json& value, const About& about) {
  return from_words(key, {json_word(key, value, "the name of an order, or a file")}, about);
}

bool OptionValue<ReuseOrder>::to_json(const ReuseOrder& order, Json& out) {
  put_text(study::name_of(order), out);
  return true;
}

SeqlenSweep OptionValue<SeqlenSweep>::from_words(const std::string& name,
                                                 const std::vector<std::string>& words, const About&) {
  constexpr std::string_view kPrefix = "seqlen=";
  const std::string& text = words.front();
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (!text.starts_with(kPrefix) || second == std::string::npos)
    throw InvalidParameter(name, text, "seqlen=LO:HI:STEP");
  const auto number = [&](std::size_t begin, std::size_t end) {
    return parse_integer(name, text.substr(begin, end - begin), 1, kMaxAxisLength);
  };
  const SeqlenSweep sweep{number(kPrefix.size(), first), number(first + 1, second),
                          number(second + 1, text.size())};
  study::require_valid(sweep);
  return sweep;
}

SeqlenSweep OptionValue<SeqlenSweep>::from_json(const std::string& key, const Json& value,
                                                const About& about) {
  return from_words(key, {json_word(key, value, "\"seqlen=LO:HI:STEP\"")}, about);
}

bool OptionValue<SeqlenSweep>::to_json(const SeqlenSweep& sweep, Json& out) {
  put_text(study::to_string(sweep), out);
  return true;
}

Options<ReuseFlags> reuse_rows() {
  Options<ReuseFlags> rows;
  add_attention_rows(rows);
  add_order_rows(rows);
  add_device_rows(rows);
  add_method_rows(rows);
  add_subject_rows(rows);
  rows.add("--svg", &ReuseFlags::svg, {.value = "FILE", .help = "Draw a picture", .echo = Echo::kNever});
  rows.add("--picture", &ReuseFlags::picture,
           {.value = "KIND",
            .help = "What --svg draws, and whose rows --csv prints: histogram of stack distances, miss curve "
                    "over capacities, or the sweep [sweep with --sweep, else histogram]",
            .echo = Echo::kNever});
  RuledOut others{{"csv"}};
  for (const auto& row : rows.rows()) {
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

ReuseQuestion question_of(const ReuseFlags& flags) {
  ReuseQuestion question = flags.question;
  question.method = method_of(flags);
  question.subject = subject_of(flags);
  return question;
}

}  // namespace natten_sim::cli
