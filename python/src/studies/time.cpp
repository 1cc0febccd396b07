#include <natten_sim/core/error.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/default_text.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/study/time.hpp>

#include "answer_pictures.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

template <>
struct PythonValue<Walk> {
  static std::string hint() { return "typing.Literal['forward', 'backward']"; }
  static Walk read(const std::string& name, nb::handle value, const Accepts&) {
    const std::string pass = text_of(name, value, "forward or backward");
    if (pass != "forward" && pass != "backward") throw UnknownName(name, pass, "", "forward, backward");
    return pass == "forward" ? Walk::kForward : Walk::kBackward;
  }
  static bool write(Walk pass, Json& out) {
    out = pass == Walk::kForward ? "forward" : "backward";
    return true;
  }
};

namespace {

using study::TimeAnswer;
using study::TimeQuestion;

/// The mask of a TimeQuestion axis by axis.
struct AskedTime {
  TimeQuestion question;
  Extents input, window, stride, dilation;
  PerAxis<bool> causal, cyclic;
  std::optional<std::int64_t> heads_kv, dim_value;
};

struct TimedQuestion {
  AskedTime asked;
  TimeAnswer answer;
};

Keywords<AskedTime> time_keywords() {
  using F = AskedTime;
  using Q = TimeQuestion;
  const auto of = [](auto member) { return within(&F::question, member); };
  const auto size = [&](auto member) { return within(within(&F::question, &Q::sizes), member); };
  Keywords<F> rows;
  rows.add("kernel", of(&Q::kernel),
           "hopper-fna, blackwell-fna, cutlass-fna, flexattention, or a dense kernel: hopper-fmha, cudnn, or "
           "fmha, that "
           "of the device's backend");
  rows.add("device", of(&Q::device), "A GPU, see kernels()");
  rows.add("input", &F::input, "Token layout, one size an axis, 1 to 3 axes");
  rows.add("window", &F::window, "Window, one size an axis [the whole axis: dense attention]");
  rows.add("stride", &F::stride, "Stride, one an axis " + report::axis_default(&AxisMask::stride));
  rows.add("dilation", &F::dilation, "Dilation, one an axis " + report::axis_default(&AxisMask::dilation));
  rows.add("causal", &F::causal, "One an axis [False]");
  rows.add("cyclic", &F::cyclic, "One an axis: whether its last token is next to its first [False]",
           Echo::kWhenSet);
  rows.add("q_tile", within(within(&F::question, &Q::tiles), &TilePair::q_tile),
           "Q tile in tokens, one size an axis; a dense kernel has its own [NATTEN's default of the backend]");
  rows.add("kv_tile", within(within(&F::question, &Q::tiles), &TilePair::kv_tile),
           "KV tile in tokens, one size an axis; a dense kernel has its own [NATTEN's default of the backend]");
  rows.add("phase", of(&Q::pass), "forward or backward [default]");
  rows.add("kernel_schedule", of(&Q::schedule), "cooperative (a grid) or pingpong (persistent) [default]");
  rows.add("rest_ms", of(&Q::rest_ms),
           "Milliseconds of rest, or of lighter work, between one launch and the next; without it, longer "
           "than the "
           "GPU's power limit remembers",
           Echo::kWhenSet, {.least = 0, .most = 1e9});
  rows.add("batch_size", size(&OperandSizes::batch), "Batch size [default]", Echo::kAlways, {.hi = kMaxBatch});
  rows.add("heads", size(&OperandSizes::heads), "Heads [default]", Echo::kAlways, {.hi = kMaxHeads});
  rows.add("heads_kv", &F::heads_kv, "KV heads, a divisor of the heads [heads]", Echo::kAlways,
           {.hi = kMaxHeads});
  rows.add("head_dim", size(&OperandSizes::head_dim), "Head dim of Q and K [default]");
  rows.add("dim_value", &F::dim_value, "Head dim of V [that of Q and K]");
  rows.add("dtype", of(&Q::dtype), "Element type [default]");
  rows.add("add_kv", of(&Q::additional_keys), "Extra KV tokens that every query attends to [default]",
           Echo::kAlways, {.lo = 0});
  rows.add("natten", of(&Q::natten), "Release of NATTEN whose copies count, such as 0.21.6 [the newest]",
           Echo::kWhenSet);
  return rows;
}

TimedQuestion answer_time(const AskedTime& given, const study::Context& context) {
  AskedTime asked = given;
  for (const auto& [name, text] :
       {std::pair{"kernel", asked.question.kernel}, std::pair{"device", asked.question.device}}) {
    if (text.empty()) throw InvalidParameter(name, "none", std::string("a ") + name + " by name");
  }
  if (asked.input.empty()) throw InvalidParameter("input", "none", "one size an axis");
  if (asked.window.empty()) asked.window = asked.input;
  OperandSizes& sizes = asked.question.sizes;
  sizes.heads_kv = asked.heads_kv.value_or(sizes.heads);
  if (sizes.heads % sizes.heads_kv != 0)
    throw InvalidParameter("heads_kv", std::to_string(sizes.heads_kv),
                           "a divisor of the heads, " + std::to_string(sizes.heads));
  sizes.head_dim_value = asked.dim_value.value_or(sizes.head_dim);
  sizes.element_bytes = element_bytes(asked.question.dtype);
  asked.question.mask = make_mask(asked.input, asked.window, asked.stride, asked.dilation, asked.causal, asked.cyclic);
  asked.question = study::resolved(asked.question, context);
  asked.stride = stride_of(asked.question.mask);
  asked.dilation = dilation_of(asked.question.mask);
  asked.causal = causal_of(asked.question.mask);
  if (has_cycle(asked.question.mask)) asked.cyclic = cyclic_of(asked.question.mask);
  asked.heads_kv = sizes.heads_kv;
  asked.dim_value = sizes.head_dim_value;
  return {asked, study::time(asked.question, context)};
}

Json time_fields(const TimedQuestion& timed, const study::Context&) {
  Json fields = Json::object();
  report::add_time_fields(timed.answer, fields);
  return fields;
}

void bind_time(nb::module_& module) {
  bind(module,
       Study<AskedTime, TimedQuestion>{
           .function = "time",
           .type = "Time",
           .schema = "time",
           .doc = "Predict how many milliseconds one pass of a kernel takes, and what takes most of them.\n\n"
                  "Where nobody has calibrated the kernel, `time_ms` is None and `time_missing` says what to "
                  "measure.",
           .returns = "`time_ms` (milliseconds: kernel, permutation, total, and the interval low..high), "
                      "`time` (its parts and what\n    it rests on), `speedup_time` over dense attention.",
           .source = "docs/time.md; costs are measured, data/kernel-times.json.",
           .keywords = time_keywords(),
           .answer = answer_time,
           .input = [](const Keywords<AskedTime>& rows,
                       const TimedQuestion& timed) { return rows.echo(timed.asked); },
           .result = time_fields,
           .text = [](const TimedQuestion& timed,
                      const study::Context&) { return report::time_text(timed.answer); },
           .csv =
               [](const TimedQuestion& timed, const study::Context& context, const Json& input) {
                 Json row = report::flattened(input);
                 row.update(report::flattened(time_fields(timed, context)));
                 return report::csv_table(row, {row});
               },
           .pictures = [](const TimedQuestion&) {
             return std::vector<Picture<TimedQuestion>>{
                 {"parts", [](const TimedQuestion& timed, const study::Context& context) {
                    return time_parts_svg(time_fields(timed, context));
                  }}};
           }});
}

}  // namespace

StudyBinder time_study();
StudyBinder time_study() { return bind_time; }

}  // namespace natten_sim::python
