#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/report/default_text.hpp>
#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/study/reuse_parts.hpp>

#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

/// A name, or a file of permutations.
template <>
struct PythonValue<study::ReuseOrder> {
  static std::string hint() { return "str"; }
  static study::ReuseOrder read(const std::string& name, nb::handle value, const Accepts&) {
    return study::parse_reuse_order(name, text_of(name, value, "the name of an order, or a file"));
  }
  static bool write(const study::ReuseOrder& order, Json& out) {
    out = study::name_of(order);
    return true;
  }
};

template <>
struct PythonValue<study::CausalAxes> {
  static std::string hint() { return PythonValue<PerAxis<bool>>::hint(); }
  static study::CausalAxes read(const std::string& name, nb::handle value, const Accepts& accepts) {
    return study::causal_axes(PythonValue<PerAxis<bool>>::read(name, value, accepts));
  }
  static bool write(const study::CausalAxes& causal, Json& out) {
    if (const bool* every = std::get_if<bool>(&causal)) return PythonValue<bool>::write(*every, out);
    return PythonValue<PerAxis<bool>>::write(std::get<PerAxis<bool>>(causal), out);
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
using study::ReuseParts;
using study::ReuseQuestion;

constexpr Accepts kSizes{.hi = std::int64_t{1} << 20};
constexpr Accepts kBytes{.hi = std::int64_t{1} << 50};
constexpr const study::ReuseDefaults& kDefaults = study::kReuseDefaults;

Keywords<AttentionSubject> attention_keywords() {
  using A = AttentionSubject;
  Keywords<A> rows;
  rows.add("seqlen_k", &A::seqlen_k, "Keys, where they are not as many as queries [as many]", Echo::kWhenSet,
           {.hi = std::int64_t{1} << 40});
  rows.add("head_dim", &A::head_dim, "Head dim of Q and K [default]", Echo::kAlways, kSizes);
  rows.add("dim_value", &A::dim_value, "Head dim of V and O [that of Q and K]", Echo::kAlways, kSizes);
  rows.add("dtype", &A::dtype, "Element type [default]");
  rows.add("q_tile", &A::q_tile, "Q tile in tokens " + report::default_text("the kernel's", kDefaults.tile));
  rows.add("kv_tile", &A::kv_tile,
           "KV tile in tokens " + report::default_text("the kernel's", kDefaults.tile));
  rows.add("heads", &A::heads, "Heads [default]", Echo::kAlways, {.hi = kMaxHeads});
  rows.add("heads_kv", &A::heads_kv, "KV heads, a divisor of the heads [heads]", Echo::kAlways,
           {.hi = kMaxHeads});
  rows.add("batch_size", &A::batch, "Batch size [default]", Echo::kAlways, {.hi = kMaxBatch});
  rows.add("causal", &A::causal, "Causal mask on every axis, or one flag an axis [default]");
  rows.add("window", &A::window, "Neighborhood window [the whole axis: dense]");
  rows.add("stride", &A::stride, "Stride of the window " + report::axis_default(&AxisMask::stride));
  rows.add("kernel", &A::kernel,
           "Take tiles, schedule, order, CTAs an SM and speed of a known kernel: fa2 or cudnn [none]");
  rows.add(
      "schedule", &A::schedule,
      "Which CTA takes which Q tile. persistent: round-robin; grid: a free CTA takes the next one; tile: as "
      "grid, two Q tiles at a time " +
          report::default_text("the kernel's", kDefaults.schedule));
  rows.choose("interleave_heads", &A::launch, LaunchOrder::kHeadsFirst,
              "Launch the heads and batches of one Q tile before the next Q tile [default]");
  rows.add("longest_first", &A::longest_first, "Launch the last Q tile of a head first [default]");
  rows.add("ctas_per_sm", &A::ctas_per_sm,
           "CTAs resident on an SM " + report::default_text("the kernel's", kDefaults.ctas_per_sm),
           Echo::kAlways, {.hi = 32});
  return rows;
}

Keywords<ReuseQuestion> question_keywords() {
  using Q = ReuseQuestion;
  Keywords<Q> rows;
  rows.add("order", &Q::order,
           "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file with a permutation on each "
           "line " +
               report::default_text("the kernel's", kDefaults.order),
           Echo::kWhenSet);
  rows.add("compare", &Q::compare, "Answer for a second order too, with the reduction [none]",
           Echo::kWhenSet);
  rows.add("device", &Q::device, "Cache and speed of a GPU, see devices() [none]");
  rows.add("l2_bytes", &Q::capacity_bytes, "Effective capacity of the L2 [the device's]", Echo::kAlways,
           kBytes);
  rows.add("sector_bytes", &Q::sector_bytes,
           "Bytes of a sector " + report::default_text("the device's", kDefaults.sector_bytes), Echo::kAlways,
           kSizes);
  rows.add("sms", &Q::sms, "Number of SMs " + report::default_text("the device's", kDefaults.sms),
           Echo::kAlways, kSizes);
  rows.echo_only("line_bytes", &Q::line_bytes, Echo::kWhenSet);
  return rows;
}

Keywords<ReuseParts> method_keywords() {
  using F = ReuseParts;
  Keywords<F> rows;
  rows.add(
      "fidelity", &F::fidelity,
      std::string("closed-form: sectors, and misses where a formula is exact; lru: lockstep in front of an "
                  "exact LRU; timed: CTAs simulated in time [") +
          to_string(study::default_fidelity(false)) + "; for a trace, " +
          to_string(study::default_fidelity(true)) + "]");
  rows.add("granularity", &F::granularity,
           "lru: a stack distance for each tile or for each sector " +
               report::default_text(study::LruReplay{}.granularity),
           Echo::kWhenSet);
  rows.add("ways", &F::ways,
           "lru: a set-associative cache of so many ways instead of a fully associative one [none]",
           Echo::kWhenSet, {.hi = 64});
  rows.add("jitter", &F::jitter,
           "timed: standard deviation of a tile's compute time, as a fraction " +
               report::default_text("the kernel's", study::MeasuredPace{}.jitter),
           Echo::kWhenSet, {.least = 0, .most = 0.5});
  rows.add("sample", &F::sample,
           "lru: follow only this share of the sectors of a stream or trace, 0..1; the misses then have a "
           "standard "
           "error [all]",
           Echo::kWhenSet, {.least = 1e-9, .most = 1});
  rows.add("seed", &F::seed,
           "timed, sample, replacement random: seed of what is drawn " +
               report::default_text(study::TimedRun{}.seed),
           Echo::kWhenSet);
  return rows;
}

Keywords<study::SetAssociative> set_keywords() {
  using S = study::SetAssociative;
  Keywords<S> rows;
  rows.add("replacement", &S::replacement, "With ways: replacement in a full set [default]");
  rows.choose("hashed", &S::index, SetIndex::kHashed,
              "With ways: choose sets by a hash of the line, not by its number [default]");
  return rows;
}

Keywords<ReuseParts> length_keywords() {
  using F = ReuseParts;
  Keywords<F> rows;
  rows.add("seqlen", &F::seqlen, "Sequence length, or a layout of 1 to 4 axes [none]", Echo::kWhenSet);
  rows.add("sweep", &F::sweep, "Answer for the sequence lengths lo, lo + step, .. hi: (lo, hi, step) [none]",
           Echo::kWhenSet);
  return rows;
}

Keywords<ReuseParts> subject_keywords() {
  using F = ReuseParts;
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

Keywords<study::StreamSubject> stream_keywords() {
  Keywords<study::StreamSubject> rows;
  return rows.add("passes", &study::StreamSubject::passes,
                  "Number of times that the buffer is read [default]", Echo::kAlways,
                  {.hi = std::int64_t{1} << 40});
}

Keywords<ReuseParts> reader_keywords() {
  Keywords<ReuseParts> rows;
  return rows.add("workers", &ReuseParts::workers,
                  "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]", Echo::kAlways,
                  kSizes);
}

Keywords<ReuseParts> reuse_keywords() {
  using F = ReuseParts;
  Keywords<F> rows = length_keywords();
  rows.include(attention_keywords(), &F::attention);
  rows.add("tile", &F::tile, "Shape of both tiles [q_tile and kv_tile]", Echo::kNever);
  rows.include(reader_keywords()).include(question_keywords(), &F::question).include(method_keywords());
  rows.include(set_keywords(), &F::sets).include(subject_keywords()).include(stream_keywords(), &F::stream);
  return rows;
}

ReuseAnswer answer_reuse(const ReuseParts& parts, const study::Context& context) {
  ReuseQuestion question = study::question_of(parts);
  question.details = {.mean_distance = true, .histogram = true, .first_noncompulsory_seqlen = true};
  return study::reuse(question, context);
}

/// The keywords that say what `parts` read.
Keywords<ReuseParts> keywords_of_subject(const ReuseParts& parts) {
  if (parts.trace) return subject_keywords();
  Keywords<ReuseParts> rows;
  if (parts.stream_bytes) {
    rows.include(subject_keywords()).include(stream_keywords(), &ReuseParts::stream);
  } else {
    rows.include(length_keywords()).include(attention_keywords(), &ReuseParts::attention);
  }
  return rows.include(reader_keywords());
}

Json reuse_input(const Keywords<ReuseParts>&, const ReuseAnswer& answer) {
  const ReuseParts parts = study::parts_of(answer.question);
  Keywords<ReuseParts> rows = keywords_of_subject(parts);
  rows.include(question_keywords(), &ReuseParts::question).include(method_keywords());
  if (parts.ways) rows.include(set_keywords(), &ReuseParts::sets);
  return rows.echo(parts);
}

/// Of a sweep, or of one problem, as the program's --picture has them. A picture that needs more than the
/// answer keeps asks again.
std::vector<Picture<ReuseAnswer>> reuse_pictures_of(const ReuseAnswer& asked) {
  std::vector<Picture<ReuseAnswer>> pictures;
  for (const report::ReusePicture* kind : report::reuse_pictures()) {
    if (kind->of_sweep != (asked.results.size() > 1)) continue;
    pictures.push_back({kind->name, [kind](const ReuseAnswer& answer, const study::Context& context) {
                          if (!kind->details.curve || answer.question.details.curve) return kind->draw(answer).svg;
                          ReuseQuestion question = answer.question;
                          question.details.curve = true;
                          return kind->draw(study::reuse(question, context)).svg;
                        }});
  }
  return pictures;
}

void bind_reuse(nb::module_& module) {
  bind(
      module,
      Study<ReuseParts, ReuseAnswer>{
          .function = "reuse",
          .type = "Reuse",
          .schema = "reuse",
          .doc =
              "Predict the sectors, L2 misses and DRAM bytes of an attention kernel, a stream or a trace.\n\n"
              "Bytes and sectors are of the whole problem: all heads, all batches. Of a sweep, `sweep` has a "
              "record a length.",
          .returns =
              "sectors (of `sector_bytes`), bytes from DRAM (`dram_read_bytes`), hit rates and fractions in "
              "0..1, stack distances in\n    tiles or sectors; of `compare`, both orders and the "
              "`reduction`.",
          .source = "Sawtooth Wavefront Reordering (arXiv 2601.16032), table 2; docs/l2-reuse.md.",
          .duration = Duration::kLong,
          .keywords = reuse_keywords(),
          .answer = answer_reuse,
          .input = reuse_input,
          .result = [](const ReuseAnswer& answer,
                       const study::Context&) { return report::reuse_result(answer); },
          .text = [](const ReuseAnswer& answer, const study::Context&) { return report::reuse_text(answer); },
          .csv = [](const ReuseAnswer& answer, const study::Context&,
                    const Json& input) { return report::reuse_csv(answer, input); },
          .pictures = reuse_pictures_of,
          .closing = [](const ReuseAnswer& answer,
                        const study::Context& context) -> std::optional<report::Closing> {
            return report::closing_of(answer, study::conclude(answer, context));
          }});
}

}  // namespace

StudyBinder reuse_study();
StudyBinder reuse_study() { return bind_reuse; }

}  // namespace natten_sim::python
