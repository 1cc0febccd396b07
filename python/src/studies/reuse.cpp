#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/study/reuse_parts.hpp>

#include "described.hpp"
#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

/// A name, or a file of permutations.
template <>
struct PythonValue<study::ReuseOrder> {
  using Echoed = std::string;
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
  using Echoed = AnyOf<bool, std::vector<bool>>;
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
  using Echoed = std::string;
  static constexpr const char* kAlso = ", as (lo, hi, step)";
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

using study::ReuseAnswer;
using study::ReuseParts;
using study::ReuseQuestion;

ReuseAnswer answer_reuse(const ReuseParts& parts, const study::Context& context) {
  ReuseQuestion question = study::question_of(parts);
  question.details = {.mean_distance = true, .histogram = true, .first_noncompulsory_seqlen = true};
  return study::reuse(question, context);
}

Json reuse_input(const Keywords<ReuseParts>&, const ReuseAnswer& answer) {
  const ReuseParts parts = study::parts_of(answer.question);
  KeywordMembers<ReuseParts> members;
  study::describe_answered(members, parts);
  return std::move(members).keywords().echo(parts);
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
          .many = "reuse_many",
          .many_doc = "Predict sectors, misses and DRAM bytes for many problems at once.",
          .keywords = keywords_of<ReuseParts>(),
          .may_be_null = {"window", "kernel", "device", "l2_bytes"},
          .answer = answer_reuse,
          .input = reuse_input,
          .result = [](const ReuseAnswer& answer,
                       const study::Context&) { return report::reuse_result(answer); },
          .result_schema = report::reuse_schema,
          .text = [](const ReuseAnswer& answer, const study::Context&) { return report::reuse_text(answer); },
          .csv = [](const ReuseAnswer& answer, const study::Context&,
                    const Json& input) { return report::csv_text(report::reuse_rows(answer, input)); },
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
