#include <natten_sim/core/error.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/count.hpp>

#include "answer_pictures.hpp"
#include "count_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

namespace {

using study::TimeAnswer;
using study::TimeQuestion;

struct TimedQuestion {
  AskedTime asked;
  TimeAnswer answer;
};

/// What NATTEN runs on the device, as count() says.
KernelChoice dispatched_kernel(study::CountQuestion count, Walk pass, const study::Context& context) {
  count.backward = pass == Walk::kBackward;
  const study::CountAnswer counted = study::count(count, context);
  const std::optional<study::KernelPass>& ran = count.backward ? counted.kernel.backward : counted.kernel.forward;
  if (!ran)
    throw InvalidParameter("kernel", "not given", "a kernel by name: NATTEN has none for this problem");
  return {study::name_of(ran->attention)};
}

/// With its defaults.
TimeQuestion question_of(AskedTime& asked, const study::Context& context) {
  study::CountQuestion& count = asked.count;
  study::Setting& setting = count.setting;
  if (!setting.device || setting.device->empty()) throw InvalidParameter("device", "not given", "a device by name");
  if (setting.input.empty()) throw InvalidParameter("input", "not given", "one size per axis");
  if (!count.kernel || count.kernel->name.empty()) count.kernel = dispatched_kernel(count, asked.pass, context);
  if (count.window.empty()) count.window = setting.input;
  const std::int64_t heads = setting.heads.value_or(study::kDefaultHeads);
  setting.heads = heads;
  setting.heads_kv = setting.heads_kv.value_or(heads);
  if (heads % *setting.heads_kv != 0)
    throw InvalidParameter("heads_kv", std::to_string(*setting.heads_kv),
                           "a divisor of the heads, " + std::to_string(heads));
  setting.head_dim = setting.head_dim.value_or(study::kDefaultHeadDim);
  setting.head_dim_value = setting.head_dim_value.value_or(*setting.head_dim);
  setting.dtype = setting.dtype.value_or(study::default_dtype(count.kernel));
  study::Setting of_kernel = setting;
  for (const Backend& backend : context.catalog.backends) {
    if (*count.kernel == backend.name && !count.kernel->own) of_kernel.backend = backend.name;
  }
  (void)study::resolved(of_kernel, context.catalog);  // refuses types that the kernel does not have
  TimeQuestion question{.kernel = count.kernel->name, .device = *setting.device};
  count.kernel_schedule = count.kernel_schedule.value_or(question.schedule);
  question.schedule = *count.kernel_schedule;
  question.mask = make_mask(setting.input, count.window, count.stride, count.dilation, count.causal, count.cyclic);
  question.tiles = {count.q_tile, count.kv_tile};
  question.pass = asked.pass;
  question.sizes = {.batch = setting.batch,
                    .heads = heads,
                    .heads_kv = *setting.heads_kv,
                    .head_dim = *setting.head_dim,
                    .head_dim_value = *setting.head_dim_value,
                    .element_bytes = element_bytes(*setting.dtype)};
  question.dtype = *setting.dtype;
  question.natten = setting.natten;
  question.additional_keys = setting.add_kv;
  question.rest_ms = count.rest_ms;
  question.mask_function = count.mask_function;
  question.mask_cost = count.mask_cost;
  return study::resolved(question, context);
}

TimedQuestion answer_time(const AskedTime& given, const study::Context& known) {
  AskedTime asked = given;
  const study::WithKernels kernels(known, asked.count.kernel);
  const study::Context& context = kernels.get();
  const TimeQuestion question = question_of(asked, context);
  study::CountQuestion& count = asked.count;
  count.q_tile = question.tiles.q_tile;
  count.kv_tile = question.tiles.kv_tile;
  count.setting.device = question.device;
  if (!count.kernel->own) count.kernel = question.kernel;
  count.setting.natten = question.natten;
  count.stride = stride_of(question.mask);
  count.dilation = dilation_of(question.mask);
  count.causal = causal_of(question.mask);
  if (has_cycle(question.mask)) count.cyclic = cyclic_of(question.mask);
  return {asked, study::time(question, context)};
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
           .may_be_null = {"q_tile", "kv_tile"},
           .answer = answer_time,
           .input = [](const Keywords<AskedTime>& rows,
                       const TimedQuestion& timed) { return rows.echo(timed.asked); },
           .result = time_fields,
           .result_schema = report::time_schema,
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
