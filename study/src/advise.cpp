#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {
namespace {

constexpr std::size_t kCandidates = 24;             // of each search
constexpr double kSparsityTolerance = 0.03;         // on both sides of what is wished for
constexpr double kDensest = 0.3, kSparsest = 0.999;  // between which a speedup is looked for

/// How far a device's advice is when its speedup has a sparsity.
constexpr double kLastSearches = 0.7;

/// The next sparsity to try for a speedup: up to 0.03 more, and at most a third of what is left.
double sparser(double sparsity) { return std::min(kSparsest, sparsity + std::min(0.03, (1 - sparsity) / 3)); }

std::string rounded(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 2);
}

struct TimedCandidate {
  NeighborhoodMask mask;
  TilePair tiles;
  double total_ms = 0, speedup = 0;
  double stride_product = 1;
  double padding = 1;  ///< multiplied pairs over those that attend
};

/// One device's question.
class Adviser {
 public:
  Adviser(const AdviseQuestion& question, const std::string& device, const Context& context,
          const ProgressFunction& progress)
      : question_(question), context_(context), progress_(progress) {
    setting_ = question.setting;
    setting_.device = device;
    setting_.backend = std::nullopt;
    setting_ = resolved(setting_, context.catalog);
    if (setting_.input.empty())
      throw InvalidParameter("input", "none", mention("input") + " with one size an axis, or " + mention("preset"));
  }

  DeviceAdvice advise() {
    DeviceAdvice advice{.device = *setting_.device};
    try {
      pairs_ = tile_pairs(effective_backend(setting_, context_.catalog), setting_.input.rank(),
                          *setting_.head_dim, Walk::kForward);
    } catch (const InvalidParameter& error) {
      advice.missing = error.what();
      return advice;
    }
    advice.missing = why_untimed();
    advice.untimed = !advice.missing.empty();
    if (advice.untimed) return advice;
    const double sparsity =
        question_.speedup ? sparsity_for(*question_.speedup) : question_.sparsity.value_or(kUsualSparsity);
    show(kLastSearches);
    std::vector<TimedCandidate> candidates = timed(sparsity, true);
    if (question_.speedup) drop_slower(*question_.speedup, candidates);
    if (candidates.empty()) {
      advice.missing =
          question_.speedup
              ? "no configuration reaches that speedup; the fastest of at most 99.9% sparsity is " +
                    rounded(most_speedup_) + " times as fast as dense"
              : "no window within the imbalance has that sparsity";
      return advice;
    }
    choose(std::move(candidates), advice);
    return advice;
  }

 private:
  void show(double share) const {
    if (progress_) progress_(share);
  }

  TimeQuestion time_question(const NeighborhoodMask& mask, const TilePair& tiles) const {
    TimeQuestion question{.kernel = effective_backend(setting_, context_.catalog).name,
                          .device = *setting_.device};
    question.mask = mask;
    question.tiles = tiles;
    question.sizes = {.batch = setting_.batch,
                      .heads = *setting_.heads,
                      .heads_kv = *setting_.heads_kv,
                      .head_dim = *setting_.head_dim,
                      .head_dim_value = *setting_.head_dim_value,
                      .element_bytes = element_bytes(*setting_.dtype)};
    question.dtype = *setting_.dtype;
    question.natten = setting_.natten;
    question.additional_keys = setting_.add_kv;
    return question;
  }

  /// Asked of any window: whether the device's kernel is calibrated for these sizes at all.
  std::string why_untimed() const {
    const TimeAnswer answer =
        time(time_question(make_mask(setting_.input, setting_.input), pairs_.front()), context_);
    const auto* missing = std::get_if<MissingTime>(&answer);
    return missing == nullptr ? "" : missing->sentence;
  }

  SearchSpace space() const {
    SearchSpace space = full_space(setting_.input);
    for (IntRange& window : space.window) window.lo = std::min<std::int64_t>(2, window.hi);
    for (const TilePair& tiles : pairs_) space.tiles.push_back({"", tiles});
    return space;
  }

  static TimedCandidate candidate_of(const NeighborhoodMask& mask, const TilePair& tiles,
                                     const TileCount& count, double total_ms, double speedup) {
    TimedCandidate candidate{mask, tiles, total_ms, speedup};
    for (const AxisMask& axis : mask) candidate.stride_product *= static_cast<double>(axis.stride);
    candidate.padding = static_cast<double>(count.mma_pairs) / static_cast<double>(count.attended_pairs);
    return candidate;
  }

  /// The fastest windows of a space, or where search does not rank it by time those that visit least.
  void add(const SearchSpace& space, const SearchConstraints& constraints,
           std::vector<TimedCandidate>& candidates) const {
    if (!few_enough_to_time(space, constraints)) {
      add_by_visits(space, constraints, candidates);
      return;
    }
    SearchQuestion question;
    question.setting = setting_;
    question.constraints = constraints;
    question.window_range = space.window;
    question.stride_range = space.stride;
    question.distinct = Distinct::kWindow;
    question.top = static_cast<std::int64_t>(kCandidates);
    Context quiet = context_;
    quiet.progress = {};
    const SearchAnswer answer = search(question, quiet);
    if (answer.question.objective != Objective::kTime) {
      add_by_visits(space, constraints, candidates);
      return;
    }
    for (const SearchCandidate& found : answer.candidates)
      candidates.push_back(candidate_of(found.counted.problem.mask, found.tiles.tiles, found.counted.count,
                                        found.total_ms(), found.speedup));
  }

  void add_by_visits(const SearchSpace& space, const SearchConstraints& constraints,
                     std::vector<TimedCandidate>& candidates) const {
    SearchRun run{.threads = context_.threads};
    run.tie_break = TieBreak::kFastPath;
    for (const Candidate& found :
         search_best(space, constraints, Objective::kMean, kCandidates, run).candidates) {
      const TilePair& tiles = space.tiles[found.tile_choice].tiles;
      const TimeAnswer answer = time(time_question(found.mask, tiles), context_);
      const auto* predicted = std::get_if<PassTime>(&answer);
      if (predicted == nullptr) continue;
      candidates.push_back(candidate_of(found.mask, tiles, found.count, predicted->total_ms,
                                        predicted->speedup.value_or(0)));
    }
  }

  /// Best candidates near a sparsity; `local` ones with stride 1 too.
  std::vector<TimedCandidate> timed(double sparsity, bool local) const {
    SearchConstraints constraints;
    constraints.sparsity =
        SparsityRange{std::max(0.0, sparsity - kSparsityTolerance), std::min(1.0, sparsity)};
    constraints.max_imbalance = question_.max_imbalance;
    std::vector<TimedCandidate> candidates;
    add(space(), constraints, candidates);
    SearchConstraints unmasked = constraints;
    unmasked.natten_fast_path = true;
    add(space(), unmasked, candidates);
    if (local) {
      show((1 + kLastSearches) / 2);
      SearchSpace of_stride_one = space();
      for (IntRange& stride : of_stride_one.stride) stride = {1, 1};
      add(of_stride_one, constraints, candidates);
    }
    // What covers the layout is dense attention, which NATTEN runs by another kernel.
    std::erase_if(candidates, [](const TimedCandidate& each) {
      return std::all_of(each.mask.begin(), each.mask.end(),
                         [](const AxisMask& axis) { return axis.window == axis.length && !axis.causal; });
    });
    return candidates;
  }

  void drop_slower(double speedup, std::vector<TimedCandidate>& candidates) {
    for (const TimedCandidate& each : candidates) most_speedup_ = std::max(most_speedup_, each.speedup);
    std::erase_if(candidates, [&](const TimedCandidate& each) { return each.speedup < speedup; });
  }

  double sparsity_for(double speedup) {
    for (double sparsity = std::min(kSparsest, std::max(kDensest, 1 - 1 / speedup)); sparsity < kSparsest;
         sparsity = sparser(sparsity)) {
      show(kLastSearches * sparsity);
      std::vector<TimedCandidate> candidates = timed(sparsity, false);
      drop_slower(speedup, candidates);
      if (!candidates.empty()) return sparser(sparsity);  // a step more, so that there is a choice
    }
    return kSparsest;
  }

  /// The best of each role whose window differs from those chosen before.
  void choose(std::vector<TimedCandidate> candidates, DeviceAdvice& advice) const {
    std::vector<const TimedCandidate*> chosen;
    for (const AdviceRole role : values_of<AdviceRole>()) {
      const auto rank = [&](const TimedCandidate& each) {
        const double first = role == AdviceRole::kFastest     ? 0
                             : role == AdviceRole::kMostLocal ? each.stride_product
                                                              : each.padding;
        return std::tuple(first, each.total_ms, window_of(each.mask), stride_of(each.mask));
      };
      const TimedCandidate* best = nullptr;
      for (const TimedCandidate& each : candidates) {
        const bool taken = std::any_of(chosen.begin(), chosen.end(), [&](const TimedCandidate* other) {
          return window_of(other->mask) == window_of(each.mask);
        });
        if (!taken && (best == nullptr || rank(each) < rank(*best))) best = &each;
      }
      if (best == nullptr) return;
      chosen.push_back(best);
      advice.choices.push_back(described(role, *best));
    }
  }

  AdviceChoice described(AdviceRole role, const TimedCandidate& candidate) const {
    CountQuestion question;
    question.setting = setting_;
    question.window = window_of(candidate.mask);
    question.stride = stride_of(candidate.mask);
    question.q_tile = candidate.tiles.q_tile;
    question.kv_tile = candidate.tiles.kv_tile;
    question.kernel = effective_backend(setting_, context_.catalog).name;
    question.backward = element_bytes(*setting_.dtype) > 1;  // no kernel has a backward pass in 8 bits
    Context quiet = context_;
    quiet.progress = {};
    AdviceChoice choice{.role = role, .count = count(question, quiet)};
    choice.end_to_end_speedup = choice.count.end_to_end_by_time;
    if (choice.count.kernel.forward && choice.count.kernel.forward->permutation) {
      for (const PermutedTensor& copy : choice.count.kernel.forward->permutation->copies)
        choice.tile_memory_bytes += copy.into_tiles ? copy.bytes_written : copy.bytes_read;
    }
    return choice;
  }

  const AdviseQuestion& question_;
  const Context& context_;
  const ProgressFunction& progress_;
  Setting setting_;
  std::vector<TilePair> pairs_;
  double most_speedup_ = 0;  ///< of all candidates that were timed for a wished speedup
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
  if (question.sparsity && !(*question.sparsity > 0 && *question.sparsity < 1))
    refuse("sparsity", *question.sparsity, "a fraction above 0 and below 1");
  if (question.speedup && !(*question.speedup > 1 && *question.speedup <= 1000))
    refuse("speedup", *question.speedup, "a factor above 1, at most 1000");
  if (!(question.max_imbalance >= 1)) refuse("max-imbalance", question.max_imbalance, "1 or more");
}

}  // namespace

AdviseAnswer advise(const AdviseQuestion& question, const Context& context) {
  require_valid(question);
  AdviseAnswer answer{.question = question};
  std::vector<std::string>& devices = answer.question.devices;
  if (devices.empty()) {
    for (const KernelCosts& costs : context.catalog.kernel_costs) {
      const auto device = std::find_if(context.catalog.devices.begin(), context.catalog.devices.end(),
                                       [&](const Device& each) { return each.name == costs.device; });
      if (device != context.catalog.devices.end() && device->default_backend == costs.kernel &&
          std::find(devices.begin(), devices.end(), costs.device) == devices.end())
        devices.push_back(costs.device);
    }
  }
  if (!question.speedup) answer.question.sparsity = question.sparsity.value_or(kUsualSparsity);
  if (!devices.empty()) answer.question.setting = with_defaults(question.setting, devices.front(), context);
  answer.devices.resize(devices.size());
  run_parts(devices.size(), {.threads = context.threads, .progress = context.progress},
            [&](std::size_t i, const ProgressFunction& progress) {
              answer.devices[i] = Adviser(question, devices[i], context, progress).advise();
            });
  return answer;
}

}  // namespace natten_sim::study
