#include <natten_sim/core/checked.hpp>
#include <natten_sim/study/conclusion/reuse.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "asked_reuse.hpp"
#include "reuse_interval.hpp"

namespace natten_sim::study {
namespace {

constexpr double kWorthwhileSaving = 1.02;

/// Loads that must miss.
std::int64_t cold_loads(const ReuseResult& result) {
  return result.cold_sectors - result.sectors.o.value_or(0);
}

/// Pairs of tiles that a replay visits, by the sectors of K that it loads.
double visits_of(const ReuseQuestion& question, const AttentionSubject& subject, const ReuseResult& result) {
  const double tile_bytes = static_cast<double>(product(*subject.kv_tile, "kv_tile") * subject.head_dim) *
                            static_cast<double>(element_bytes(subject.dtype));
  return static_cast<double>(*result.sectors.k) * static_cast<double>(*question.sector_bytes) / tile_bytes;
}

std::optional<KvOrder> walked(const ReuseResult& result) {
  const auto* order = result.order ? std::get_if<KvOrder>(&*result.order) : nullptr;
  return order == nullptr ? std::nullopt : std::optional(*order);
}

/// The question of one length with other walks, asked at once at the end. Keeps what reads least.
class ReuseWalks {
 public:
  ReuseWalks(const ReuseQuestion& question, const ReuseComparison& known, ReuseConclusion& end)
      : question_(question), known_(known), end_(end) {
    question_.details = {};
    question_.compare = std::nullopt;
  }

  void add_orders() {
    for (const KvOrder order : values_of<KvOrder>()) {
      if (walked(known_.first) == order) continue;
      changes_.push_back({.order = order});
      if (known_.second && walked(*known_.second) == order) continue;
      asked_.push_back(question_);
      asked_.back().order = order;
    }
  }

  void add_launches() {
    const auto* subject = std::get_if<AttentionSubject>(&question_.subject);
    if (subject == nullptr || subject->heads * subject->batch == 1) return;
    for (const LaunchOrder launch : values_of<LaunchOrder>()) {
      if (launch == subject->launch) continue;
      changes_.push_back({.launch = launch});
      asked_.push_back(question_);
      std::get<AttentionSubject>(asked_.back().subject).launch = launch;
    }
  }

  void ask(const Context& context) const {
    const std::vector<ReuseResult> results = ask_each(asked_, context);
    auto result = results.begin();
    for (const ReuseChange& change : changes_) {
      if (change.order && known_.second && walked(*known_.second) == change.order) {
        take(*known_.second, change);
      } else {
        take(*result++, change);
      }
    }
  }

  /// What was compared with.
  void take_known() const {
    if (known_.second && walked(*known_.second)) take(*known_.second, {.order = walked(*known_.second)});
  }

 private:
  void take(const ReuseResult& other, ReuseChange change) const {
    if (!other.dram_read_bytes) return;
    change.read_bytes = *other.dram_read_bytes;
    change.gain = static_cast<double>(end_.read_bytes) / static_cast<double>(change.read_bytes);
    const ReuseResult& first = known_.first;
    if (first.time_ns && other.time_ns) change.time_gain = *first.time_ns / *other.time_ns;
    if (change.gain < kWorthwhileSaving) return;
    const bool moves_time = !change.time_gain || *change.time_gain >= kWorthwhileTime;
    std::optional<ReuseChange>& best = moves_time ? end_.change : end_.idle;
    if (!best || change.gain > best->gain) best = change;
  }

  ReuseQuestion question_;
  const ReuseComparison& known_;
  ReuseConclusion& end_;
  std::vector<ReuseChange> changes_;
  std::vector<ReuseQuestion> asked_;  // of the changes whose answer is not known
};

/// Half of what is asked: its progress begins at `from`.
Context part_of_progress(const Context& context, double from) {
  Context part = context;
  if (context.progress)
    part.progress = [&context, from](double share) { context.progress(from + share / 2); };
  return part;
}

/// The question of one length, with its interval if that is cheap enough.
void add_interval(const ReuseAnswer& answer, const ReuseQuestion& question, double visits,
                  const Context& context, ReuseConclusion& end) {
  const bool timed = std::holds_alternative<TimedRun>(*question.method);
  end.interval_takes_long = visits > static_cast<double>(kIntervalVisits) &&
                            (timed || answer.schedule_assumed) &&
                            !std::holds_alternative<ClosedForm>(*question.method);
  if (!end.interval_takes_long)
    end.interval = interval_of(question, answer.schedule_assumed, end.read_bytes, context);
}

}  // namespace

ReuseConclusion conclude(const ReuseAnswer& answer, const Context& given) {
  const auto* asked = std::get_if<AttentionSubject>(&answer.question.subject);
  const WithKernels kernels(given, asked == nullptr ? std::nullopt : asked->kernel);
  const Context& context = kernels.get();
  ReuseConclusion end;
  const ReuseComparison& last = answer.results.back();
  const ReuseResult& first = last.first;
  ReuseQuestion question = answer.question;
  auto* subject = std::get_if<AttentionSubject>(&question.subject);
  if (subject != nullptr && std::holds_alternative<SeqlenSweep>(subject->seqlen)) {
    end.seqlen = last.seqlen;
    subject->seqlen = Extents{*last.seqlen};
  }
  if (!question.capacity_bytes) return end;
  if (!first.dram_read_bytes) {
    end.limit = ReuseLimit::kUnanswered;
    return end;
  }
  end.read_bytes = *first.dram_read_bytes;
  end.reads_of_cold =
      static_cast<double>(end.read_bytes) / static_cast<double>(cold_loads(first) * *question.sector_bytes);
  if (subject != nullptr) {
    const double visits = visits_of(question, *subject, first);
    ReuseQuestion walk = question;
    walk.order = first.order;
    add_interval(answer, walk, visits, part_of_progress(context, 0), end);
  }
  end.limit = end.reads_of_cold < kWorthwhileSaving ? ReuseLimit::kCompulsory : ReuseLimit::kCapacity;
  if (end.limit == ReuseLimit::kCompulsory || std::holds_alternative<TraceSubject>(question.subject))
    return end;
  ReuseWalks walks(question, last, end);
  if (subject != nullptr && visits_of(question, *subject, first) > static_cast<double>(kCheapVisits) &&
      !std::holds_alternative<ClosedForm>(*question.method)) {
    walks.take_known();
    return end;
  }
  end.asked = true;
  walks.add_orders();
  walks.add_launches();
  walks.ask(part_of_progress(context, 0.5));
  return end;
}

}  // namespace natten_sim::study
