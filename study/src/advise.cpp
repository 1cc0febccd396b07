#include <algorithm>
#include <cmath>
#include <sstream>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/search.hpp>

#include "searches/prepared_search.hpp"
#include "searches/search_space.hpp"

namespace natten_sim::study {
namespace {

constexpr std::size_t kMostChoices = 3;
constexpr double kSparsest = 0.999;       // up to which a speedup is looked for
constexpr double kResolution = 0.005;     // of the context that has a wished speedup
constexpr double kMostOfContext = 0.99;   // by which a further choice's is lowered, or by more
constexpr double kSparsityUnit = 1e-6;    // to which the sparsity of a further choice is rounded

std::string rounded(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 2);
}

/// Of the passes searched, over the dense kernel's; none: nobody has timed that.
std::optional<double> speedup_of(const SearchCandidate& candidate) {
  double dense_ms = 0;
  for (const std::optional<PassTime>* time : {&candidate.time, &candidate.backward_time}) {
    if (!*time) continue;
    if (!(*time)->dense_ms) return std::nullopt;
    dense_ms += *(*time)->dense_ms;
  }
  return dense_ms / candidate.total_ms();
}

double sparsity_of(const SearchCandidate& candidate) { return candidate.counted.count.sparsity(); }

/// One device's question.
class Adviser {
 public:
  Adviser(const AdviseQuestion& question, const std::string& device, const Context& context,
          const ProgressFunction& progress)
      : question_(question), quiet_(context), progress_(progress), cyclic_(asks_cycle(question.cyclic)) {
    quiet_.progress = {};
    quiet_.axis_memory = make_axis_memory();
    setting_ = question.setting;
    setting_.device = device;
    setting_.backend = std::nullopt;
    setting_ = resolved(setting_, context.catalog, question.use == AdviseUse::kTraining);
    if (cyclic_) setting_.backend = std::nullopt;
    if (setting_.input.empty())
      throw InvalidParameter("input", "none", mention("input") + " with one size an axis, or " + mention("preset"));
    if (!cyclic_) require_axes_of_natten(setting_.input);
  }

  DeviceAdvice advise() {
    DeviceAdvice advice{.device = *setting_.device};
    if (question_.recall.has_wish()) {
      advice.heads = search(of_heads(), quiet_);
      return advice;
    }
    std::optional<OffsetTables> tables;  // refused before anything is searched
    if (question_.recall.table) tables.emplace("recall", *question_.recall.table, setting_.input);
    try {
      windows_.emplace(any_window(), quiet_);
      missing_ = windows_->known().time_missing;
      untimed_ = !missing_.empty();
      if (!untimed_) describe_points(question_.speedup ? points_within_speedup() : points_within_sparsity(), advice);
    } catch (const InvalidParameter& error) {
      advice.missing = error.what();
    }
    if (!missing_.empty()) advice.missing = missing_;
    if (tables && !advice.choices.empty()) {
      std::vector<NeighborhoodMask> masks;
      for (const AdviceChoice& each : advice.choices) masks.push_back(each.count.forward.problem.mask);
      advice.recalls = recalls_of(std::move(*tables), setting_.input, masks, quiet_);
    }
    advice.untimed = untimed_;
    advice.sketched = sketched_;
    return advice;
  }

 private:
  /// The fastest configuration that leaves out at most this; of equal ones the one with most context. What covers the
  /// layout is dense attention, which NATTEN runs by another kernel: the next one is the answer.
  std::optional<SearchCandidate> fastest(double sparsity, double least = 0, std::optional<double> min_speedup = {}) {
    poll_now();
    if (progress_) progress_(1 - 1 / static_cast<double>(2 + searches_++));
    for (const std::int64_t rows : {1, 2}) {
      std::vector<SearchCandidate> found = fastest_rows({least, sparsity}, rows, min_speedup);
      if (found.empty()) break;
      if (!found.back().dense_path) return std::move(found.back());
    }
    return std::nullopt;
  }

  std::vector<SearchCandidate> fastest_rows(const SparsityRange& sparsity, std::int64_t rows,
                                            const std::optional<double>& min_speedup) {
    SearchConstraints constraints{.sparsity = sparsity, .min_speedup = min_speedup};
    if (question_.window.empty()) constraints.max_imbalance = question_.max_imbalance;
    SearchAnswer answer = windows_->answer(constraints, rows);
    sketched_ = sketched_ || answer.sketched;
    return std::move(answer.candidates);
  }

  [[nodiscard]] std::string kernel() const {
    return cyclic_ ? kCyclicKernel : effective_backend(setting_, quiet_.catalog).name;
  }

  [[nodiscard]] SearchQuestion any_window() const {
    SearchQuestion question;
    question.setting = setting_;
    question.phase = question_.use == AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
    question.distinct = Distinct::kWindow;
    question.window = question_.window;
    question.stride = question_.stride;
    question.cyclic = question_.cyclic;
    question.kernels = {kernel()};  // with the tiles that were timed
    return question;
  }

  /// A window for every head: any of them, with any stride and tiles.
  [[nodiscard]] SearchQuestion of_heads() const {
    SearchQuestion question;
    question.setting = question_.setting;
    question.setting.device = setting_.device;
    question.phase = question_.use == AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
    question.constraints.sparsity = question_.sparsity;
    question.window = question_.window;
    question.stride = question_.stride;
    question.cyclic = question_.cyclic;
    question.recall = question_.recall;
    return question;
  }

  std::vector<SearchCandidate> points_within_sparsity() {
    std::vector<SearchCandidate> points;
    const bool any = question_.window.empty();
    const SparsityRange wished = question_.sparsity.value_or(SparsityRange{0, any ? kUsualSparsity : 1});
    std::optional<SearchCandidate> next = fastest(wished.hi, wished.lo);
    if (!next) missing_ = any ? "no window within the imbalance has that sparsity" : "that window is dense attention";
    while (next && (points.empty() || speedup_of(*next).value_or(2) > 1)) {
      points.push_back(std::move(*next));
      const double context = kContextStep * (1 - sparsity_of(points.back()));
      const double sparsity = std::floor((1 - context) / kSparsityUnit) * kSparsityUnit;
      if (points.size() == kMostChoices || context >= 1 || sparsity < wished.lo) break;
      next = fastest(sparsity, wished.lo);
    }
    return points;
  }

  std::vector<SearchCandidate> points_within_speedup() {
    std::vector<SearchCandidate> points;
    std::optional<SearchCandidate> next = most_context(*question_.speedup);
    while (next) {
      points.insert(points.begin(), std::move(*next));
      if (points.size() == kMostChoices) break;
      next = fastest_within((1 - sparsity_of(points.front())) / kContextStep);
      if (next && next->total_ms() >= points.front().total_ms()) break;  // no faster one is left
    }
    return points;
  }

  /// The fastest that attends to at least some share of the pairs, which is lowered until the answer is within `context`.
  std::optional<SearchCandidate> fastest_within(double context) {
    for (double least = context; 1 - least <= kSparsest;) {
      std::optional<SearchCandidate> found = fastest(std::ceil((1 - least) / kSparsityUnit) * kSparsityUnit);
      if (!found) break;
      const double share = 1 - sparsity_of(*found);
      if (share <= context) return found;
      least *= std::min(context / share, kMostOfContext);
    }
    return std::nullopt;
  }

  /// The least time grows with the context, so what is `speedup` times as fast as dense ends somewhere between
  /// the sparsest and dense. Times grow about as the context does, which says where to look next.
  std::optional<SearchCandidate> most_context(double speedup) {
    std::optional<SearchCandidate> best = fastest(kSparsest);
    if (!best) {
      missing_ = "no window within the imbalance is dense enough";
      return best;
    }
    if (!speedup_of(*best)) {
      missing_ = "no measured times of a dense kernel there, so no speedup to hold against a wish";
      return std::nullopt;
    }
    if (*speedup_of(*best) < speedup) {
      missing_ = "no configuration reaches that speedup; the fastest of at most 99.9% sparsity is " +
                 rounded(*speedup_of(*best)) + " times as fast as dense";
      return std::nullopt;
    }
    double reached = 1 - sparsity_of(*best), missed = 1;  // context
    while (missed - reached > kResolution * reached) {
      const double guess = reached * *speedup_of(*best) / speedup;
      const double margin = 0.1 * (missed - reached);
      const double context = std::clamp(guess, reached + margin, missed - margin);
      std::optional<SearchCandidate> found = fastest(std::max(0.0, 1 - context), 0, speedup);
      if (found && *speedup_of(*found) >= speedup) {
        reached = 1 - sparsity_of(*found);
        best = std::move(found);
      } else {
        missed = context;
      }
    }
    return best;
  }

  void describe_points(const std::vector<SearchCandidate>& points, DeviceAdvice& advice) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const AdviceRole role = i == 0                   ? AdviceRole::kFastest
                              : i + 1 == points.size() ? AdviceRole::kMostContext
                                                       : AdviceRole::kBalanced;
      advice.choices.push_back(described(role, points[i]));
    }
  }

  AdviceChoice described(AdviceRole role, const SearchCandidate& candidate) const {
    const NeighborhoodMask& mask = candidate.counted.problem.mask;
    CountQuestion question;
    question.setting = setting_;
    question.window = window_of(mask);
    question.stride = stride_of(mask);
    question.q_tile = candidate.tiles.tiles.q_tile;
    question.kv_tile = candidate.tiles.tiles.kv_tile;
    if (cyclic_) question.cyclic = cyclic_of(mask);
    question.kernel = kernel();
    if (candidate.backward) {
      question.backward = true;
      question.backward_q_tile = candidate.tiles.backward_tiles.q_tile;
      question.backward_kv_tile = candidate.tiles.backward_tiles.kv_tile;
    }
    AdviceChoice choice{.role = role,
                        .count = count(question, quiet_),
                        .total_ms = candidate.total_ms(),
                        .speedup = speedup_of(candidate)};
    choice.end_to_end = end_to_end_of(candidate);
    if (choice.count.kernel.forward && choice.count.kernel.forward->permutation) {
      for (const PermutedTensor& copy : choice.count.kernel.forward->permutation->copies)
        choice.tile_memory_bytes += copy.into_tiles ? copy.bytes_written : copy.bytes_read;
    }
    return choice;
  }

  /// None: no dense time, or no share.
  [[nodiscard]] std::optional<EndToEndGain> end_to_end_of(const SearchCandidate& candidate) const {
    AttentionTimes times;
    for (const std::optional<PassTime>* time : {&candidate.time, &candidate.backward_time}) {
      if (!*time) continue;
      if (!(*time)->dense_ms) return std::nullopt;
      (time == &candidate.time ? times.dense_forward_ms : times.dense_backward_ms) = *(*time)->dense_ms;
      times.sparse_ms.value += (*time)->total_ms;
      times.sparse_ms.low += (*time)->low_ms;
      times.sparse_ms.high += (*time)->high_ms;
    }
    return end_to_end_gain(setting_, times, quiet_.catalog);
  }

  const AdviseQuestion& question_;
  Context quiet_;
  const ProgressFunction& progress_;
  Setting setting_;
  const bool cyclic_;
  std::optional<PreparedSearch> windows_;  ///< all of them, with any stride and tiles
  int searches_ = 0;
  std::string missing_;  ///< why there are no points
  bool untimed_ = false, sketched_ = false;
};

/// The setting with what the preset and the device's backend fill in; the devices are named beside it.
Setting with_defaults(Setting setting, const std::string& device, const Context& context) {
  const auto backend = setting.backend;
  setting.device = device;
  setting.backend = std::nullopt;
  setting = resolved(setting, context.catalog);
  setting.device = std::nullopt;
  setting.backend = backend;
  return setting;
}

void require_valid(const AdviseQuestion& question) {
  const auto refuse = [](const char* name, double value, const char* accepted) {
    std::ostringstream text;
    text << value;
    throw InvalidParameter(name, text.str(), accepted);
  };
  if (question.sparsity && !(question.sparsity->hi > 0 && question.sparsity->hi < 1))
    refuse("sparsity", question.sparsity->hi, "a fraction above 0 and below 1");
  if (question.sparsity && !(question.sparsity->lo >= 0 && question.sparsity->lo <= question.sparsity->hi))
    refuse("sparsity", question.sparsity->lo, "a lower bound of 0 or more that is not above the upper one");
  if (question.speedup && !(*question.speedup > 1 && *question.speedup <= 1000))
    refuse("speedup", *question.speedup, "a factor above 1, at most 1000");
  if (!question.window.empty() && question.sparsity)
    refuse("sparsity", question.sparsity->hi, "a window or a sparsity");
  if (!question.window.empty() && question.speedup) refuse("speedup", *question.speedup, "a window or a speedup");
  if (question.recall.has_wish() && question.speedup)
    refuse("speedup", *question.speedup, "a least recall or a budget alone");
  if (!(question.max_imbalance >= 1)) refuse("max-imbalance", question.max_imbalance, "1 or more");
}

}  // namespace

AdviseAnswer advise(const AdviseQuestion& question, const Context& context) {
  require_valid(question);
  AdviseAnswer answer{.question = question};
  const bool cyclic = asks_cycle(question.cyclic);
  std::vector<std::string>& devices = answer.question.devices;
  if (devices.empty()) {
    for (const KernelCosts& costs : context.catalog.kernel_costs) {
      const auto device = std::find_if(context.catalog.devices.begin(), context.catalog.devices.end(),
                                       [&](const Device& each) { return each.name == costs.device; });
      if (device != context.catalog.devices.end() && costs.kernel == (cyclic ? kCyclicKernel : device->default_backend) &&
          std::find(devices.begin(), devices.end(), costs.device) == devices.end())
        devices.push_back(costs.device);
    }
  }
  if (!question.speedup && !question.recall.has_wish() && question.window.empty())
    answer.question.sparsity = question.sparsity.value_or(SparsityRange{0, kUsualSparsity});
  if (!devices.empty()) answer.question.setting = with_defaults(question.setting, devices.front(), context);
  if (const Extents& input = answer.question.setting.input; cyclic && !input.empty())
    answer.question.cyclic = cyclic_of(make_mask(input, Extents(input.rank(), 1), {}, {}, {}, question.cyclic));
  answer.devices.resize(devices.size());
  run_parts(devices.size(), {.threads = context.threads, .progress = context.progress},
            [&](std::size_t i, const ProgressFunction& progress) {
              answer.devices[i] = Adviser(question, devices[i], context, progress).advise();
            });
  return answer;
}

}  // namespace natten_sim::study
