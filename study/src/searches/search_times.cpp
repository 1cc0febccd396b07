#include "searches/search_times.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "count_time.hpp"
#include "flex_blocks.hpp"
#include "searches/search_space.hpp"
#include "timed_kernel.hpp"
#include "timed_launch.hpp"

namespace natten_sim::study {
namespace {

constexpr std::array<Walk, 2> kWalks = {Walk::kForward, Walk::kBackward};

const std::string& kernel_of_choice(const TileChoice& choice) {
  return choice.kernel.empty() ? choice.backend : choice.kernel;
}

TimeQuestion question_of(const SearchQuestion& question, const TileChoice& choice,
                         const NeighborhoodMask& mask, Walk walk) {
  const Setting& setting = question.setting;
  TimeQuestion timed =
      time_question(setting, mask, walk == Walk::kForward ? choice.tiles : choice.backward_tiles, walk,
                    question.kernel_schedule);
  timed.kernel = kernel_of_choice(choice);
  timed.rest_ms = question.rest_ms;
  return timed;
}

/// Choices share passes of one kernel and pair of tiles.
using PassKey = std::tuple<Walk, std::string, Extents, Extents>;

/// One pass of a tile choice under every mask, as time() has it. Choices share passes, and callers ask for a mask again.
class MaskTimes {
 public:
  MaskTimes(TimeQuestion question, TimeFrame frame) : question_(std::move(question)), frame_(std::move(frame)) {
    pass_ = make_pass();
  }

  [[nodiscard]] const TimedPass& pass() const { return pass_; }
  /// Copies, and all else that windows do not change.
  [[nodiscard]] double added_ms() const { return frame_.added_ms; }
  [[nodiscard]] double dense_ms() const { return frame_.dense_ms.value(); }

  [[nodiscard]] double ms(const NeighborhoodMask& mask, const Context& context) {
    std::pair key{window_of(mask), stride_of(mask)};
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    TimeQuestion question = question_;
    question.mask = mask;
    const double ms = launch_time(work_of(question, frame_.costs, context), frame_.costs).total_ms + frame_.added_ms;
    const std::lock_guard lock(mutex_);
    known_.emplace(std::move(key), ms);
    return ms;
  }

  void add_kernel_ms(const NeighborhoodMask& mask, const Context& context, std::vector<double>& ms) const {
    TimeQuestion question = question_;
    question.mask = mask;
    const std::vector<LaunchWork> works = works_of_heads(question, frame_.costs, context);
    ms.resize(works.size(), 0.0);
    for (std::size_t heads = 0; heads < works.size(); ++heads) ms[heads] += launch_time(works[heads], frame_.costs).total_ms;
  }

  [[nodiscard]] LeastTime least(const NeighborhoodMask& mask) const {
    NattenProblem problem{.mask = mask, .backend = frame_.family, .tiles = question_.tiles};
    problem.pass = question_.pass;
    problem.kernel_alone = true;
    LaunchWork work = launch_work(natten_visits(problem).attention, mask.rank(), repeats_, frame_.workers, has_causal_axis(mask));
    work.waves = work.ctas / static_cast<double>(work.workers) * pass_.least_tail;
    if (frame_.costs.clipped_share > 0) {
      TimeQuestion question = question_;
      question.mask = mask;
      work.missing = cutlass_work_of(question, 1).missing;
    }
    const LaunchTime time = launch_time(work, frame_.costs);
    return {time.total_ms * (1 - kRounding) + pass_.added_ms,
            (time.tiles_ms + time.masking_ms + time.prologue_ms) / static_cast<double>(question_.sizes.heads)};
  }

 private:
  static constexpr double kRounding = 1e-9;  // of sums in another order

  [[nodiscard]] TimedPass make_pass() const {
    TimedPass pass{.walk = question_.pass,
                   .family = frame_.family,
                   .costs = frame_.costs,
                   .repeats = repeats_,
                   .workers = frame_.workers,
                   .most_simulated = static_cast<double>(kMostSimulated),
                   .added_ms = frame_.added_ms};
    pass.costs.evidence = {};  // copied for each of thousands of choices
    if (frame_.family != NattenBackend::kCutlassFna) return pass;
    const CutlassWork work = cutlass_work_of(question_, frame_.workers / frame_.costs.ctas_per_sm);
    // CTAs that are all there at once end with the longest; others take their mean load, at least.
    if (work.spread.ctas <= static_cast<double>(frame_.workers))
      pass.least_tail = shared_waves({.ctas = work.spread.ctas, .sms = work.spread.sms}, frame_.costs.ctas_per_sm,
                                     frame_.costs.lone_share, frame_.costs.step_jitter) *
                        static_cast<double>(frame_.workers) / work.spread.ctas;
    // Backward, what tiles lack depends on the layout; forward, on the window.
    pass.least_pair = 1 - frame_.costs.clipped_share * (question_.pass == Walk::kForward ? 1 : work.missing);
    pass.cutlass = cutlass_layout(cutlass_launch(question_));
    pass.cutlass->prepared_bytes = 0;
    if (frame_.costs.prepared_bytes_per_s > 0) pass.added_ms += 1e3 * work.spread.prepared_bytes / frame_.costs.prepared_bytes_per_s;
    return pass;
  }

  TimeQuestion question_;
  TimeFrame frame_;
  TimedPass pass_;  ///< without the evidence of its costs
  std::int64_t repeats_ = checked_multiply(question_.sizes.batch, question_.sizes.heads, "heads");
  std::mutex mutex_;
  std::map<std::pair<Extents, Extents>, double> known_;  // of windows and strides
};

}  // namespace

void SearchTimes::require_speedup(const std::optional<double>& min_speedup) {
  for (std::size_t i = 0; i < dense_ms.size(); ++i)
    objective.choices[i].most_ms = min_speedup ? dense_ms[i] / *min_speedup : 0;
}

std::variant<SearchTimes, MissingTime> search_times(const SearchQuestion& question, const SearchSpace& space,
                                                    const Context& context) {
  if (!question.setting.device) return MissingTime{"a time needs a device, such as h200"};
  SearchTimes times;
  const NeighborhoodMask whole =
      make_mask(space.input, Extents(space.input.rank(), 1), {}, space.dilation, space.causal, space.cyclic);
  std::map<PassKey, std::shared_ptr<MaskTimes>> passes;
  std::vector<std::vector<std::shared_ptr<MaskTimes>>> of_choices;
  for (const TileChoice& choice : space.tiles) {
    if (choice.backend.empty() && choice.kernel.empty())
      return MissingTime{"tiles of no backend have no kernel, so no time"};
    TimedChoice timed;
    double dense_ms = 0, added_ms = 0;
    of_choices.emplace_back();
    for (const Walk walk : kWalks) {
      if (!has_pass(space.phase, walk)) continue;
      const TilePair& tiles = walk == Walk::kForward ? choice.tiles : choice.backward_tiles;
      std::shared_ptr<MaskTimes>& pass = passes[{walk, kernel_of_choice(choice), tiles.q_tile, tiles.kv_tile}];
      if (!pass) {
        TimeQuestion asked = question_of(question, choice, whole, walk);
        const auto found = time_frame(asked, context);
        if (const auto* missing = std::get_if<MissingTime>(&found)) return *missing;
        pass = std::make_shared<MaskTimes>(std::move(asked), std::get<TimeFrame>(found));
      }
      timed.passes.push_back(pass->pass());
      timed.flattens = timed.flattens || timed.passes.back().family == NattenBackend::kFlexFna;  // see flattens()
      if (timed.passes.back().family == NattenBackend::kCutlassFna && product(dilation_of(whole), "dilation") > 1)
        return MissingTime{"cutlass-fna with dilation is not searched by time: its CTAs mix dilation groups"};
      of_choices.back().push_back(pass);
      dense_ms += pass->dense_ms();
      added_ms += pass->added_ms();
    }
    times.objective.choices.push_back(std::move(timed));
    times.dense_ms.push_back(dense_ms);
    times.added_ms.push_back(added_ms);
  }
  std::vector<std::shared_ptr<MaskTimes>> known;
  for (const auto& [key, pass] : passes) known.push_back(pass);
  times.least = [of_choices, known](const NeighborhoodMask& mask) {
    std::map<const MaskTimes*, LeastTime> of_passes;
    for (const std::shared_ptr<MaskTimes>& pass : known) of_passes[pass.get()] = pass->least(mask);
    std::vector<LeastTime> least(of_choices.size());
    for (std::size_t choice = 0; choice < of_choices.size(); ++choice) {
      for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) {
        const LeastTime& of_pass = of_passes.at(pass.get());
        least[choice] = {least[choice].ms + of_pass.ms, least[choice].head_ms + of_pass.head_ms};
      }
    }
    return least;
  };
  times.kernel_ms = [of_choices, &context](const NeighborhoodMask& mask, std::size_t choice) {
    std::vector<double> ms;
    for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) pass->add_kernel_ms(mask, context, ms);
    return ms;
  };
  times.objective.exact_ms = [of_choices = std::move(of_choices), &context](const NeighborhoodMask& mask,
                                                                            std::size_t choice) {
    double ms = 0;
    for (const std::shared_ptr<MaskTimes>& pass : of_choices[choice]) ms += pass->ms(mask, context);
    return ms;
  };
  return times;
}

std::vector<LeftOutKernel> leave_out_untimed(const SearchQuestion& question, const Context& context, SearchSpace& space) {
  const NeighborhoodMask whole =
      make_mask(space.input, Extents(space.input.rank(), 1), {}, space.dilation, space.causal, space.cyclic);
  std::map<PassKey, std::string> missing;  // sentences; empty: there are times
  std::vector<TileChoice> timed;
  std::vector<LeftOutKernel> reasons;
  for (const TileChoice& choice : space.tiles) {
    if (choice.backend.empty() && choice.kernel.empty()) return {};
    std::string sentence;
    for (const Walk walk : kWalks) {
      if (!has_pass(space.phase, walk)) continue;
      const TilePair& tiles = walk == Walk::kForward ? choice.tiles : choice.backward_tiles;
      const auto [known, is_new] = missing.try_emplace({walk, kernel_of_choice(choice), tiles.q_tile, tiles.kv_tile});
      if (is_new) {
        const auto frame = time_frame(question_of(question, choice, whole, walk), context);
        if (const auto* none = std::get_if<MissingTime>(&frame)) known->second = none->sentence;
      }
      if (sentence.empty()) sentence = known->second;
    }
    if (sentence.empty()) {
      timed.push_back(choice);
    } else if (std::none_of(reasons.begin(), reasons.end(), [&](const auto& each) { return each.reason == sentence; })) {
      reasons.push_back({kernel_of_choice(choice), std::move(sentence)});
    }
  }
  if (timed.empty()) return {};
  space.tiles = std::move(timed);
  return reasons;
}

void add_times(const SearchQuestion& question, const SearchSpace& space, const Context& context,
               SearchCandidate& candidate) {
  double ms = 0, dense_ms = 0;
  for (const Walk walk : kWalks) {
    if (!has_pass(space.phase, walk)) continue;
    const TimeAnswer answer = time(
        question_of(question, candidate.tiles, candidate.counted.problem.mask, walk), context);
    const PassTime& passed = std::get<PassTime>(answer);
    ms += passed.total_ms;
    dense_ms += passed.dense_ms.value();
    (walk == Walk::kForward ? candidate.time : candidate.backward_time) = passed;
  }
  candidate.speedup = dense_ms / ms;
  const std::string& kernel = candidate.tiles.kernel;
  take_predicted(candidate.time ? &*candidate.time : nullptr,
                 candidate.backward_time ? &*candidate.backward_time : nullptr,
                 kernel.empty() ? std::nullopt : std::optional<KernelChoice>(kernel), candidate.kernel);
}

}  // namespace natten_sim::study
