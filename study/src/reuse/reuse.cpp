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
                            const Progress& progress) {
  const ReuseQuestion& question = setting.question;
  const int parts = question.compare ? 2 : 1;
  ReuseComparison comparison;
  if (attention) comparison.seqlen = attention->problem.mask[0].length;
  comparison.first = answer_one(setting, attention, question.order, part_of(progress, 0, parts));
  if (question.compare)
    comparison.second = answer_one(setting, attention, question.compare, part_of(progress, 1, parts));
  return comparison;
}

bool assumes_schedule(const ReuseQuestion& question) {
  const auto* attention = std::get_if<AttentionSubject>(&question.subject);
  return attention != nullptr && !attention->schedule && !attention->kernel;
}

/// Of the device: all that a timed run reads, else the capacity.
std::vector<std::string> assumed_by(const ReuseSetting& setting) {
  if (!setting.device) return {};
  const bool known = setting.capacity_source == CapacitySource::kGiven;
  std::vector<std::string> assumed = assumed_numbers(*setting.device);
  const bool timed = std::holds_alternative<TimedRun>(*setting.question.method);
  std::erase_if(assumed,
                [&](const std::string& number) { return number == "l2_effective_bytes" ? known : !timed; });
  return assumed;
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

Fidelity fidelity_of(const ReuseMethod& method) {
  return std::holds_alternative<TimedRun>(method)    ? Fidelity::kTimed
         : std::holds_alternative<LruReplay>(method) ? Fidelity::kLru
                                                     : Fidelity::kClosedForm;
}

Fidelity default_fidelity(bool of_trace) { return of_trace ? Fidelity::kLru : Fidelity::kClosedForm; }

ReuseAnswer reuse(const ReuseQuestion& question, const Context& context) {
  const ReuseSetting setting = resolve_reuse(question, context.catalog);
  ReuseAnswer answer;
  answer.question = setting.question;
  answer.device = setting.device;
  answer.capacity_source = setting.capacity_source;
  answer.schedule_assumed = assumes_schedule(question);
  answer.assumed_numbers = assumed_by(setting);
  const SeqlenSweep* sweep = sweep_of(setting.question);
  if (sweep == nullptr) {
    answer.results.push_back(answer_both(setting, setting.attention, context.progress));
    return answer;
  }
  for (std::int64_t i = 0; i <= (sweep->hi - sweep->lo) / sweep->step; ++i) {
    const std::int64_t seqlen = sweep->lo + i * sweep->step;
    answer.results.push_back(answer_both(setting, at_length(*setting.attention, seqlen), {}));
    if (context.progress) context.progress(static_cast<double>(seqlen) / static_cast<double>(sweep->hi));
  }
  return answer;
}

}  // namespace natten_sim::study
