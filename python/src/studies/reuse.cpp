#include <natten_sim/core/error.hpp>
#include <natten_sim/io/permutations.hpp>
#include <natten_sim/io/trace.hpp>
#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/study/reuse.hpp>

#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {

/// A name, or a file of permutations.
template <>
struct PythonValue<study::ReuseOrder> {
  static std::string hint() { return "str"; }
  static study::ReuseOrder read(const std::string& name, nb::handle value, const Accepts&) {
    const std::string text = text_of(name, value, "the name of an order, or a file");
    std::vector<std::string> names = names_of<KvOrder>();
    for (const KvOrder order : values_of<KvOrder>()) {
      if (text == to_string(order)) return order;
    }
    if (text == study::kBestOrderName) return study::BestOrder{};
    names.emplace_back(study::kBestOrderName);
    if (text.find_first_of("./") == std::string::npos)
      throw UnknownName(name, text, closest_name(text, names), joined(names) + ", or a readable file");
    return study::OwnOrder{text, parse_permutations(read_text_file(name, text), name + " " + text)};
  }
  static bool write(const study::ReuseOrder& order, Json& out) {
    out = study::name_of(order);
    return true;
  }
};

/// seqlen=LO:HI:STEP in JSON; (lo, hi, step) in Python.
template <>
struct PythonValue<study::SeqlenSweep> {
  static std::string hint() { return "tuple[int, int, int]"; }
  static study::SeqlenSweep read(const std::string& name, nb::handle value, const Accepts&) {
    const Extents ends = PythonValue<Extents>::read(name, value, {});
    if (ends.rank() != 3) refuse(name, value, "(lo, hi, step)");
    const study::SeqlenSweep sweep{ends[0], ends[1], ends[2]};
    study::require_valid(sweep);
    return sweep;
  }
  static bool write(const study::SeqlenSweep& sweep, Json& out) {
    out = study::to_string(sweep);
    return true;
  }
};

namespace {

using study::AttentionSubject;
using study::ReuseAnswer;
using study::ReuseQuestion;

constexpr Accepts kSizes{.hi = std::int64_t{1} << 20};
constexpr Accepts kBytes{.hi = std::int64_t{1} << 50};

/// The keywords of reuse(). A question has one subject and one method; keywords of all of them lie side by
/// side, as the program's options do.
struct AskedReuse {
  ReuseQuestion question;      ///< without subject and method
  AttentionSubject attention;  ///< without its length
  std::optional<Extents> seqlen, tile;
  std::optional<study::SeqlenSweep> sweep;
  std::optional<std::int64_t> workers, stream_bytes;
  std::int64_t passes = 1;
  std::optional<std::string> trace;
  std::optional<Fidelity> fidelity;
  std::optional<Granularity> granularity;
  std::optional<std::int32_t> ways;
  study::SetAssociative sets;  ///< with `ways`
  std::optional<double> sample, jitter;
};

Keywords<AttentionSubject> attention_keywords() {
  using A = AttentionSubject;
  Keywords<A> rows;
  rows.add("head_dim", &A::head_dim, "Head dim of Q and K [64]", Echo::kAlways, kSizes);
  rows.add("dim_value", &A::dim_value, "Head dim of V and O [that of Q and K]", Echo::kAlways, kSizes);
  rows.add("dtype", &A::dtype, "Element type [fp16]");
  rows.add("q_tile", &A::q_tile, "Q tile in tokens [the kernel's, or 128]");
  rows.add("kv_tile", &A::kv_tile, "KV tile in tokens [the kernel's, or 128]");
  rows.add("heads", &A::heads, "Heads [1]", Echo::kAlways, kSizes);
  rows.add("heads_kv", &A::heads_kv, "KV heads, a divisor of the heads [heads]", Echo::kAlways, kSizes);
  rows.add("batch_size", &A::batch, "Batch size [1]", Echo::kAlways, kSizes);
  rows.add("causal", &A::causal, "Causal mask, on every axis [False]");
  rows.add("window", &A::window, "Neighborhood window [the whole axis: dense]");
  rows.add("stride", &A::stride, "Stride of the window [1]");
  rows.add("kernel", &A::kernel,
           "Take tiles, schedule, order, CTAs an SM and speed of a known kernel: fa2 or cudnn [none]");
  rows.add(
      "schedule", &A::schedule,
      "Which CTA takes which Q tile. persistent: round-robin; grid: a free CTA takes the next one; tile: as "
      "grid, two Q tiles at a time [the kernel's, or persistent]");
  rows.choose("interleave_heads", &A::launch, LaunchOrder::kHeadsFirst,
              "Launch the heads and batches of one Q tile before the next Q tile [False]");
  rows.add("longest_first", &A::longest_first, "Launch the last Q tile of a head first [False]");
  rows.add("ctas_per_sm", &A::ctas_per_sm, "CTAs resident on an SM [the kernel's, or 1]", Echo::kAlways,
           {.hi = 32});
  return rows;
}

Keywords<ReuseQuestion> question_keywords() {
  using Q = ReuseQuestion;
  Keywords<Q> rows;
  rows.add("order", &Q::order,
           "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file with a permutation on each "
           "line [the "
           "kernel's, or cyclic]",
           Echo::kWhenSet);
  rows.add("compare", &Q::compare, "Answer for a second order too, with the reduction [none]",
           Echo::kWhenSet);
  rows.add("device", &Q::device, "Cache and speed of a GPU, see devices() [none]");
  rows.add("l2_bytes", &Q::capacity_bytes, "Effective capacity of the L2 [the device's]", Echo::kAlways,
           kBytes);
  rows.add("sector_bytes", &Q::sector_bytes, "Bytes of a sector [the device's, or 32]", Echo::kAlways,
           kSizes);
  rows.add("sms", &Q::sms, "Number of SMs [the device's, or 1]", Echo::kAlways, kSizes);
  rows.echo_only("line_bytes", &Q::line_bytes, Echo::kWhenSet);
  return rows;
}

Keywords<AskedReuse> method_keywords() {
  using F = AskedReuse;
  Keywords<F> rows;
  rows.add("fidelity", &F::fidelity,
           "closed-form: sectors, and misses where a formula is exact; lru: lockstep in front of an exact "
           "LRU; timed: "
           "CTAs simulated in time [closed-form; for a trace, lru]");
  rows.add("granularity", &F::granularity, "lru: a stack distance for each tile or for each sector [tile]",
           Echo::kWhenSet);
  rows.add("ways", &F::ways,
           "lru: a set-associative cache of so many ways instead of a fully associative one [none]",
           Echo::kWhenSet, {.hi = 64});
  rows.add("jitter", &F::jitter,
           "timed: standard deviation of a tile's compute time, as a fraction [the kernel's, or 0]",
           Echo::kWhenSet, {.least = 0, .most = 0.5});
  rows.add("sample", &F::sample,
           "lru: follow only this share of the sectors of a stream or trace, 0..1; the misses then have a "
           "standard "
           "error [all]",
           Echo::kWhenSet, {.least = 1e-9, .most = 1});
  return rows;
}

Keywords<study::SetAssociative> set_keywords() {
  using S = study::SetAssociative;
  Keywords<S> rows;
  rows.add("replacement", &S::replacement, "With ways: replacement in a full set [lru]");
  rows.choose("hashed", &S::index, SetIndex::kHashed,
              "With ways: choose sets by a hash of the line, not by its number [False]");
  return rows;
}

Keywords<AskedReuse> length_keywords() {
  using F = AskedReuse;
  Keywords<F> rows;
  rows.add("seqlen", &F::seqlen, "Sequence length, or a layout of 1 to 4 axes [none]", Echo::kWhenSet);
  rows.add("sweep", &F::sweep, "Answer for the sequence lengths lo, lo + step, .. hi: (lo, hi, step) [none]",
           Echo::kWhenSet);
  return rows;
}

Keywords<AskedReuse> subject_keywords() {
  using F = AskedReuse;
  Keywords<F> rows;
  rows.add("stream_bytes", &F::stream_bytes,
           "A plain buffer that all workers read, instead of attention [none]", Echo::kWhenSet, kBytes);
  rows.add("trace", &F::trace,
           "A trace instead of attention: a file with, on each line, a byte address and, if not one sector, "
           "a size "
           "[none]",
           Echo::kWhenSet);
  return rows;
}

Keywords<AskedReuse> stream_keywords() {
  Keywords<AskedReuse> rows;
  return rows.add("passes", &AskedReuse::passes, "Number of times that the buffer is read [1]", Echo::kAlways,
                  {.hi = std::int64_t{1} << 40});
}

Keywords<AskedReuse> reader_keywords() {
  Keywords<AskedReuse> rows;
  return rows.add("workers", &AskedReuse::workers,
                  "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]", Echo::kAlways,
                  kSizes);
}

Keywords<AskedReuse> reuse_keywords() {
  using F = AskedReuse;
  Keywords<F> rows = length_keywords();
  rows.include(attention_keywords(), &F::attention);
  rows.add("tile", &F::tile, "Shape of both tiles [q_tile and kv_tile]", Echo::kNever);
  rows.include(reader_keywords()).include(question_keywords(), &F::question).include(method_keywords());
  rows.include(set_keywords(), &F::sets).include(subject_keywords()).include(stream_keywords());
  return rows;
}

study::ReuseSubject subject_of(const AskedReuse& asked) {
  if ((asked.seqlen || asked.sweep) + asked.stream_bytes.has_value() + asked.trace.has_value() != 1)
    throw InvalidParameter("seqlen", "not the only subject, or none",
                           "one of seqlen or sweep, stream_bytes, trace");
  if (asked.trace) {
    return study::TraceSubject{.name = *asked.trace,
                               .feed = [path = *asked.trace](const auto& visit, const auto& progress) {
                                 read_trace(path, visit, progress);
                               }};
  }
  if (asked.stream_bytes) return study::StreamSubject{*asked.stream_bytes, asked.passes, asked.workers};
  if (asked.seqlen && asked.sweep)
    throw InvalidParameter("sweep", "given together with seqlen", "one of the two");
  AttentionSubject subject = asked.attention;
  if (asked.sweep) {
    subject.seqlen = *asked.sweep;
  } else {
    subject.seqlen = *asked.seqlen;
  }
  if (!subject.q_tile) subject.q_tile = asked.tile;
  if (!subject.kv_tile) subject.kv_tile = asked.tile;
  subject.workers = asked.workers;
  return subject;
}

study::ReuseMethod method_of(const AskedReuse& asked) {
  const Fidelity fidelity = asked.fidelity.value_or(asked.trace ? Fidelity::kLru : Fidelity::kClosedForm);
  const auto needs = [&](const char* keyword, bool given, Fidelity needed) {
    if (given && fidelity != needed)
      throw InvalidParameter(keyword, std::string("with fidelity ") + to_string(fidelity),
                             std::string("fidelity ") + to_string(needed));
  };
  needs("ways", asked.ways.has_value(), Fidelity::kLru);
  needs("granularity", asked.granularity.has_value(), Fidelity::kLru);
  needs("sample", asked.sample.has_value(), Fidelity::kLru);
  needs("jitter", asked.jitter.has_value(), Fidelity::kTimed);
  if (asked.sample && asked.ways)
    throw InvalidParameter("sample", "given together with ways", "one of the two");
  if (fidelity == Fidelity::kTimed) return study::TimedRun{asked.jitter};
  if (fidelity == Fidelity::kClosedForm) return study::ClosedForm{};
  study::LruReplay replay{.granularity = asked.granularity.value_or(Granularity::kTile)};
  if (asked.sample) replay.cache = study::SampledLru{*asked.sample};
  if (asked.ways) {
    replay.cache = asked.sets;
    std::get<study::SetAssociative>(replay.cache).ways = *asked.ways;
  }
  return replay;
}

ReuseAnswer answer_reuse(const AskedReuse& asked, const study::Context& context) {
  ReuseQuestion question = asked.question;
  question.subject = subject_of(asked);
  question.method = method_of(asked);
  question.details = {.mean_distance = true, .histogram = true, .first_noncompulsory_seqlen = true};
  return study::reuse(question, context);
}

/// The keywords that ask for what was answered, and the rows that `input` shows of them.
Json reuse_input(const Keywords<AskedReuse>&, const ReuseAnswer& answer) {
  const ReuseQuestion& question = answer.question;
  AskedReuse asked;
  asked.question = question;
  asked.fidelity = study::fidelity_of(*question.method);
  Json input;
  if (const auto* trace = std::get_if<study::TraceSubject>(&question.subject)) {
    asked.trace = trace->name;
    input = subject_keywords().echo(asked);
  } else if (const auto* stream = std::get_if<study::StreamSubject>(&question.subject)) {
    asked.stream_bytes = stream->bytes, asked.passes = stream->passes, asked.workers = stream->workers;
    for (const auto& part : {subject_keywords(), stream_keywords(), reader_keywords()})
      input.update(part.echo(asked));
  } else {
    const auto& attention = std::get<AttentionSubject>(question.subject);
    asked.workers = attention.workers;
    if (const auto* sweep = std::get_if<study::SeqlenSweep>(&attention.seqlen)) {
      asked.sweep = *sweep;
    } else {
      asked.seqlen = std::get<Extents>(attention.seqlen);
    }
    input = length_keywords().echo(asked);
    input.update(attention_keywords().echo(attention));
    input.update(reader_keywords().echo(asked));
  }
  const auto* replay = std::get_if<study::LruReplay>(&*question.method);
  const auto* sets = replay == nullptr ? nullptr : std::get_if<study::SetAssociative>(&replay->cache);
  if (const auto* timed = std::get_if<study::TimedRun>(&*question.method)) asked.jitter = timed->jitter;
  if (replay != nullptr && std::holds_alternative<AttentionSubject>(question.subject))
    asked.granularity = replay->granularity;
  if (replay != nullptr) {
    if (const auto* sample = std::get_if<study::SampledLru>(&replay->cache)) asked.sample = sample->rate;
  }
  if (sets != nullptr) asked.ways = sets->ways;
  if (sets == nullptr) asked.question.line_bytes.reset();
  input.update(question_keywords().echo(asked.question));
  input.update(method_keywords().echo(asked));
  if (sets != nullptr) input.update(set_keywords().echo(*sets));
  return input;
}

void bind_reuse(nb::module_& module) {
  bind(
      module,
      Study<AskedReuse, ReuseAnswer>{
          .function = "reuse",
          .type = "Reuse",
          .schema = "reuse",
          .doc =
              "Predict the sectors, L2 misses and DRAM bytes of an attention kernel, a stream or a trace.\n\n"
              "Bytes and sectors are of the whole problem: all heads, all batches. A sweep's result is a "
              "tuple of records.",
          .duration = Duration::kLong,
          .keywords = reuse_keywords(),
          .answer = answer_reuse,
          .input = reuse_input,
          .result = [](const ReuseAnswer& answer,
                       const study::Context&) { return report::reuse_result(answer); },
          .text = [](const ReuseAnswer& answer, const study::Context&) { return report::reuse_text(answer); },
          .csv = [](const ReuseAnswer& answer, const study::Context&,
                    const Json& input) { return report::reuse_csv(answer, input); },
          .svg =
              [](const ReuseAnswer& answer, const study::Context&) {
                return report::default_reuse_picture(answer.results.size() > 1).svg(answer);
              }});
}

}  // namespace

StudyBinder reuse_study();
StudyBinder reuse_study() { return bind_reuse; }

}  // namespace natten_sim::python
