#include "reads.hpp"

#include <algorithm>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/study/conclusion/count.hpp>

#include "complete.hpp"

namespace natten_sim::study {
namespace {

/// Jitter of kernels whose tiles nobody timed: that of this project's kernels with tiles of that size.
constexpr double kAssumedJitter = 0.02;

/// Q tile times KV tile that all heads visit.
double visits_of(const SplitQProblem& problem) {
  double visits = 0;
  const std::int64_t q_tiles = ceil_divide(problem.mask[0].length, problem.tiles.q_tile[0]);
  for (std::int64_t i = 0; i < q_tiles; ++i)
    visits += static_cast<double>(visited_kv_tiles(problem, 0, i).size());
  return visits * static_cast<double>(problem.sizes.heads * problem.sizes.batch);
}

AttentionSubject subject_of(const ExplainedKernel& kernel) {
  const ExplainedProblem& problem = kernel.problem;
  AttentionSubject subject;
  subject.seqlen = Extents{*problem.seqlen};
  if (problem.seqlen_k && problem.seqlen_k != problem.seqlen) subject.seqlen_k = problem.seqlen_k;
  subject.causal = *problem.causal;
  subject.batch = *problem.batch;
  subject.heads = *problem.heads;
  subject.heads_kv = problem.heads_kv;
  subject.head_dim = *problem.head_dim;
  subject.dtype = *problem.dtype;
  subject.q_tile = Extents{*problem.q_tile};
  subject.kv_tile = Extents{*problem.kv_tile};
  subject.schedule = problem.schedule;
  subject.longest_first = *problem.longest_first;
  subject.launch = kernel.launch_order;
  subject.ctas_per_sm = kernel.launch.ctas_per_sm;
  return subject;
}

/// The rate that the launch itself shows: its pairs over its time, corrected for SMs that idled in the last
/// round. None: the profile has no time.
std::optional<MeasuredPace> pace_of_launch(const ExplainedKernel& kernel, const SplitQProblem& problem,
                                           double visits, const Device& device) {
  if (!kernel.launch.time_ns || *kernel.launch.time_ns <= 0) return std::nullopt;
  const auto sms = static_cast<double>(device.sms->value);
  const std::int64_t slots = device.sms->value * kernel.launch.ctas_per_sm.value_or(1);
  const std::int64_t items = ceil_divide(problem.mask[0].length, problem.tiles.q_tile[0]) *
                             problem.sizes.heads * problem.sizes.batch;
  const double pairs = visits * static_cast<double>(problem.tiles.q_tile[0] * problem.tiles.kv_tile[0]);
  const double rounds = static_cast<double>(ceil_divide(items, slots) * slots) / static_cast<double>(items);
  MeasuredPace pace;
  pace.pairs_per_ns = pairs / *kernel.launch.time_ns / sms * (problem.mask[0].causal ? 1 : rounds);
  pace.jitter = kAssumedJitter;
  return pace;
}

bool has_rate(const Catalog& catalog, const char* name, const Device& device, std::int64_t head_dim) {
  if (name == nullptr) return false;
  const AttentionKernel& kernel = catalog.kernel(name);
  return std::any_of(kernel.rates.begin(), kernel.rates.end(), [&](const KernelRate& rate) {
    return rate.device == device.name && rate.head_dim == head_dim;
  });
}

bool can_be_timed(const Device& device) {
  return device.sms && device.l2.effective_bytes && device.l2.hit_bytes_per_s && device.l2.miss_bytes_per_s &&
         device.dram_bytes_per_s && device.dense_bf16_flops_per_s;
}

/// Asks reuse() for one walk after another.
class Walks {
 public:
  Walks(ReuseQuestion question, const Context& context) : question_(std::move(question)), context_(context) {
    context_.progress = {};
  }

  /// DRAM read bytes with another method or walk; none where no formula answers.
  [[nodiscard]] std::optional<double> ask(const ReuseQuestion& question) const {
    const ReuseResult first = reuse(question, context_).results.front().first;
    if (!first.dram_read_bytes) return std::nullopt;
    return static_cast<double>(*first.dram_read_bytes);
  }
  [[nodiscard]] const ReuseQuestion& question() const { return question_; }

 private:
  ReuseQuestion question_;
  Context context_;
};

void add_changes(const Walks& walks, const std::optional<double>& now, ExplainedKernel& kernel) {
  if (!now) return;
  const double read = kernel.read->measured_bytes.value_or(*now);
  const double least = std::min(kernel.read->compulsory_bytes, read);
  const auto add = [&](const ReuseQuestion& varied, ExplainedChange change) {
    const std::optional<double> bytes = walks.ask(varied);
    if (!bytes) return;
    change.predicted_bytes = *bytes;
    change.saved_share = 1 - *bytes / *now;
    change.expected_bytes = std::max(least, read * *bytes / *now);
    if (*now >= kWorthwhile * *bytes) kernel.changes.push_back(change);
  };
  const ReuseQuestion& question = walks.question();
  for (const KvOrder order : values_of<KvOrder>()) {
    if (order == kernel.problem.order) continue;
    ReuseQuestion varied = question;
    varied.order = order;
    add(varied, {.order = order});
  }
  const auto& subject = std::get<AttentionSubject>(question.subject);
  if (kernel.problem.causal.value_or(false)) {
    ReuseQuestion varied = question;
    std::get<AttentionSubject>(varied.subject).longest_first = !subject.longest_first;
    add(varied, {.longest_first = !subject.longest_first});
  }
  if (subject.heads * subject.batch > 1) {
    ReuseQuestion varied = question;
    std::get<AttentionSubject>(varied.subject).launch = LaunchOrder::kHeadsFirst;
    add(varied, {.launch = LaunchOrder::kHeadsFirst});
  }
  std::stable_sort(kernel.changes.begin(), kernel.changes.end(),
                   [](const auto& a, const auto& b) { return a.predicted_bytes < b.predicted_bytes; });
}

}  // namespace

void add_reads(const Device& device, const char* catalog_kernel, const Context& context,
               ExplainedKernel& kernel) {
  const SplitQProblem problem = split_problem_of(kernel.problem);
  const double visits = visits_of(problem);
  ReuseQuestion question;
  question.device = device.name;
  AttentionSubject subject = subject_of(kernel);
  question.order = *kernel.problem.order;
  const bool small = visits <= kExplainedVisits;
  const bool rated = has_rate(context.catalog, catalog_kernel, device, subject.head_dim);
  if (rated) subject.kernel = catalog_kernel;
  question.subject = subject;
  ReuseQuestion lockstep = question;
  lockstep.method = small ? ReuseMethod(LruReplay{}) : ReuseMethod(ClosedForm{});
  question.method = lockstep.method;
  if (small && can_be_timed(device)) {
    TimedRun timed;
    if (!rated) timed.pace = pace_of_launch(kernel, problem, visits, device);
    question.method = timed;
  }
  const Walks walks(question, context);
  const std::optional<double> in_step = walks.ask(lockstep), now = walks.ask(question);
  const SectorCounts cold = attention_traffic(problem).cold;
  ExplainedReads read;
  read.measured_bytes = kernel.launch.dram_read_bytes;
  read.fidelity = fidelity_of(*question.method);
  read.compulsory_bytes = static_cast<double>((cold.q + cold.k + cold.v) * problem.sizes.sector_bytes);
  if (in_step) read.lockstep_bytes = *in_step - read.compulsory_bytes;
  if (in_step && now) read.drift_bytes = *now - *in_step;
  if (now && read.measured_bytes) read.unexplained_bytes = *read.measured_bytes - *now;
  kernel.read = read;
  kernel.assumed = assumed_numbers(device);
  if (const auto* timed = std::get_if<TimedRun>(&*question.method);
      rated || (timed != nullptr && timed->pace))
    std::erase(kernel.assumed, kPeakRateName);
  if (now && *now > kWorthwhile * read.compulsory_bytes) add_changes(walks, now, kernel);
}

}  // namespace natten_sim::study
