#include <natten_sim/core/parallel.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/reuse.hpp>

#include "answers.hpp"

namespace natten_sim::study {
namespace {

ReuseResult answer_one(const ReuseSetting& setting, const std::optional<AttentionSetting>& attention,
                       const std::optional<ReuseOrder>& order, const Progress& progress) {
  const ReuseSubject& subject = setting.question.subject;
  if (const auto* trace = std::get_if<TraceSubject>(&subject)) return answer_trace(setting, *trace, progress);
  if (const auto* stream = std::get_if<StreamSubject>(&subject))
    return answer_stream(setting, *stream, *order, progress);
  return answer_attention(setting, *attention, *order, progress);
}

ReuseComparison answer_both(const ReuseSetting& setting, const std::optional<AttentionSetting>& attention,
                            const Parallel& parallel) {
  const ReuseQuestion& question = setting.question;
  ReuseComparison comparison;
  if (attention) comparison.seqlen = attention->problem.mask[0].length;
  run_parts(question.compare ? 2 : 1, parallel, [&](std::size_t index, const Progress& progress) {
    if (index == 0)
      comparison.first = answer_one(setting, attention, question.order, progress);
    else
      comparison.second = answer_one(setting, attention, question.compare, progress);
  });
  return comparison;
}

/// Of a file, or none.
std::optional<KernelChoice> kernel_of(const ReuseQuestion& question) {
  const auto* attention = std::get_if<AttentionSubject>(&question.subject);
  return attention == nullptr ? std::nullopt : attention->kernel;
}

bool assumes_schedule(const ReuseQuestion& question) {
  const auto* attention = std::get_if<AttentionSubject>(&question.subject);
  return attention != nullptr && !attention->schedule && !attention->kernel;
}

/// Of the device: all that a timed run reads, else the capacity. The peak rate stands in where nothing else
/// says how fast the kernel is.
std::vector<std::string> assumed_by(const ReuseSetting& setting) {
  if (!setting.device) return {};
  const bool known = setting.capacity_source == CapacitySource::kGiven;
  const auto* const timed = std::get_if<TimedRun>(&*setting.question.method);
  const auto* const attention = std::get_if<AttentionSubject>(&setting.question.subject);
  const bool at_peak = timed != nullptr && !timed->pace && attention != nullptr && !attention->kernel;
  std::vector<std::string> assumed = assumed_numbers(*setting.device);
  std::erase_if(assumed, [&](const std::string& number) {
    if (number == "l2_effective_bytes") return known;
    return timed == nullptr || (number == kPeakRateName && !at_peak);
  });
  return assumed;
}

/// Of the kernel, those that neither its measurements nor the question give: "jitter of cudnn".
void add_assumed_of_kernel(const ReuseQuestion& asked, const Catalog& catalog,
                           std::vector<std::string>& assumed) {
  const auto* subject = std::get_if<AttentionSubject>(&asked.subject);
  const auto* timed = asked.method ? std::get_if<TimedRun>(&*asked.method) : nullptr;
  if (subject == nullptr || timed == nullptr || !subject->kernel || timed->pace) return;
  for (const AttentionKernel& kernel : catalog.kernels) {
    for (const KernelRate& rate : kernel.rates) {
      if (kernel.name != *subject->kernel || rate.device != asked.device ||
          rate.head_dim != subject->head_dim)
        continue;
      for (const std::string& name : rate.assumed) {
        if (name != "jitter" || !timed->jitter) assumed.push_back(name + " of " + kernel.name);
      }
    }
  }
}

const SeqlenSweep* sweep_of(const ReuseQuestion& question) {
  const auto* attention = std::get_if<AttentionSubject>(&question.subject);
  return attention == nullptr ? nullptr : std::get_if<SeqlenSweep>(&attention->seqlen);
}

}  // namespace

std::string name_of(const ReuseOrder& order) {
  if (const auto* own = std::get_if<OwnOrder>(&order)) return own->name;
  if (const auto* named = std::get_if<KvOrder>(&order)) return to_string(*named);
  return kBestOrderName;
}

CausalAxes causal_axes(const PerAxis<bool>& flags) {
  if (flags.rank() == 1) return flags[0];
  return flags;
}

Fidelity fidelity_of(const ReuseMethod& method) {
  return std::holds_alternative<TimedRun>(method)    ? Fidelity::kTimed
         : std::holds_alternative<LruReplay>(method) ? Fidelity::kLru
                                                     : Fidelity::kClosedForm;
}

Fidelity default_fidelity(bool of_trace) { return of_trace ? Fidelity::kLru : Fidelity::kClosedForm; }

ReuseAnswer reuse(const ReuseQuestion& question, const Context& given) {
  const WithKernels kernels(given, kernel_of(question));
  const Context& context = kernels.get();
  const ReuseSetting setting = resolve_reuse(question, context.catalog);
  ReuseAnswer answer;
  answer.question = setting.question;
  answer.device = setting.device;
  answer.capacity_source = setting.capacity_source;
  answer.schedule_assumed = assumes_schedule(question);
  answer.assumed_numbers = assumed_by(setting);
  add_assumed_of_kernel(question, context.catalog, answer.assumed_numbers);
  const SeqlenSweep* sweep = sweep_of(setting.question);
  const Parallel parallel{.threads = context.threads, .progress = context.progress};
  if (sweep == nullptr) {
    answer.results.push_back(answer_both(setting, setting.attention, parallel));
    return answer;
  }
  const auto lengths = static_cast<std::size_t>((sweep->hi - sweep->lo) / sweep->step) + 1;
  answer.results.resize(lengths);
  run_tasks(lengths, parallel, [&](std::size_t index, std::size_t) {
    const std::size_t i = lengths - 1 - index;  // the longest first
    const std::int64_t seqlen = sweep->lo + static_cast<std::int64_t>(i) * sweep->step;
    answer.results[i] = answer_both(setting, at_length(*setting.attention, seqlen), {});
  });
  return answer;
}

}  // namespace natten_sim::study
