#include <natten_sim/core/checked.hpp>
#include <natten_sim/study/conclusion/reuse.hpp>

#include "reuse_interval.hpp"

namespace natten_sim::study {
namespace {

constexpr double kWorthwhileSaving = 1.02;

/// Loads that must miss.
std::int64_t cold_loads(const ReuseResult& result) {
  return result.cold_sectors - result.sectors.o.value_or(0);
}

/// Pairs of tiles that a replay visits at most.
double visits_of(const AttentionSubject& subject, std::int64_t first_axis) {
  double visits = static_cast<double>(subject.batch) * static_cast<double>(subject.heads);
  const auto* layout = std::get_if<Extents>(&subject.seqlen);
  for (std::size_t axis = 0; axis < subject.q_tile->rank(); ++axis) {
    const std::int64_t length = layout != nullptr ? (*layout)[axis] : first_axis;
    visits *= static_cast<double>(ceil_divide(length, (*subject.q_tile)[axis]));
    const std::int64_t keys = subject.seqlen_k.value_or(length);
    visits *= static_cast<double>(ceil_divide(keys, (*subject.kv_tile)[axis]));
  }
  return visits;
}

std::optional<KvOrder> walked(const ReuseResult& result) {
  const auto* order = result.order ? std::get_if<KvOrder>(&*result.order) : nullptr;
  return order == nullptr ? std::nullopt : std::optional(*order);
}

/// Asks the question of one length with other walks, and keeps what reads least.
class ReuseWalks {
 public:
  ReuseWalks(const ReuseQuestion& question, const ReuseResult& first, const Context& context,
             ReuseConclusion& end)
      : question_(question), first_(first), context_(context), end_(end) {
    context_.progress = {};
    question_.details = {};
    question_.compare = std::nullopt;
  }

  void ask_orders() {
    for (const KvOrder order : values_of<KvOrder>()) {
      if (walked(first_) == order) continue;
      ReuseQuestion varied = question_;
      varied.order = order;
      ask(varied, {.order = order});
    }
  }

  void ask_launches() {
    const auto* subject = std::get_if<AttentionSubject>(&question_.subject);
    if (subject == nullptr || subject->heads * subject->batch == 1) return;
    for (const LaunchOrder launch : values_of<LaunchOrder>()) {
      if (launch == subject->launch) continue;
      ReuseQuestion varied = question_;
      std::get<AttentionSubject>(varied.subject).launch = launch;
      ask(varied, {.launch = launch});
    }
  }

  void take(const ReuseResult& other, ReuseChange change) {
    if (!other.dram_read_bytes) return;
    change.read_bytes = *other.dram_read_bytes;
    change.gain = static_cast<double>(end_.read_bytes) / static_cast<double>(change.read_bytes);
    if (first_.time_ns && other.time_ns) change.time_gain = *first_.time_ns / *other.time_ns;
    if (change.gain >= kWorthwhileSaving && (!end_.change || change.gain > end_.change->gain))
      end_.change = change;
  }

 private:
  void ask(const ReuseQuestion& varied, const ReuseChange& change) {
    take(reuse(varied, context_).results.front().first, change);
  }

  ReuseQuestion question_;
  const ReuseResult& first_;
  Context context_;
  ReuseConclusion& end_;
};

/// The question of one length, with its interval if that is cheap enough.
void add_interval(const ReuseAnswer& answer, const ReuseQuestion& question, double visits,
                  const Context& context, ReuseConclusion& end) {
  const bool timed = std::holds_alternative<TimedRun>(*question.method);
  if (visits <= static_cast<double>(timed ? kIntervalVisits : kCheapVisits))
    end.interval = interval_of(question, answer.schedule_assumed, end.read_bytes, context);
}

}  // namespace

ReuseConclusion conclude(const ReuseAnswer& answer, const Context& context) {
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
    const double visits = visits_of(*subject, last.seqlen.value_or(1));
    ReuseQuestion walk = question;
    walk.order = first.order;
    add_interval(answer, walk, visits, context, end);
  }
  end.limit = end.reads_of_cold < kWorthwhileSaving ? ReuseLimit::kCompulsory : ReuseLimit::kCapacity;
  if (end.limit == ReuseLimit::kCompulsory || std::holds_alternative<TraceSubject>(question.subject))
    return end;
  ReuseWalks walks(question, first, context, end);
  if (subject != nullptr &&
      visits_of(*subject, last.seqlen.value_or(1)) > static_cast<double>(kCheapVisits) &&
      !std::holds_alternative<ClosedForm>(*question.method)) {
    if (last.second && walked(*last.second)) walks.take(*last.second, {.order = walked(*last.second)});
    return end;
  }
  end.asked = true;
  walks.ask_orders();
  walks.ask_launches();
  return end;
}

}  // namespace natten_sim::study
