#include "timed_launch.hpp"

#include <algorithm>
#include <cmath>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

namespace natten_sim::study {
namespace {

/// Share of a pair's time that FlexAttention's CTAs of keys take backward; those of queries take the rest. They
/// multiply 4 of the 7 products.
constexpr double kShareOfKeys = 4.0 / 7;

/// Of libraries: masks run on tiles that the diagonal cuts, in both passes.
KernelVisits causal_library_visits(std::int64_t tokens, const PassCosts& costs) {
  const bool forward = costs.pass == Walk::kForward;
  const AxisTiles tiles = forward ? AxisTiles{costs.q_tile_tokens, costs.kv_tile_tokens}
                                  : AxisTiles{costs.kv_tile_tokens, costs.q_tile_tokens};
  const AxisCount count = count_axis({tokens, tokens, 1, 1, true}, tiles, KvTiling::kStatic, costs.pass);
  return {.launched_tiles = count.walked_tiles,
          .visited_tiles = count.visited_tiles,
          .unmasked_tiles = count.full_tiles,
          .masked_tiles = count.visited_tiles - count.full_tiles};
}

KernelVisits dense_visits(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs) {
  const std::int64_t tokens = product(input_of(question.mask), "tokens");
  const bool causal = kernel.dense && is_causal_sequence(question);
  if (causal && kernel.library) return causal_library_visits(tokens, costs);
  return fmha_visits({kernel.family, costs.q_tile_tokens, costs.kv_tile_tokens}, tokens,
                     checked_add(tokens, question.additional_keys, "tokens"), causal, question.pass);
}

KernelVisits visits_of(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs) {
  if (kernel.dense || flattens(question, kernel)) return dense_visits(question, kernel, costs);
  if (question.visits) return *question.visits;
  NattenProblem problem{.mask = question.mask, .backend = kernel.family, .tiles = question.tiles};
  problem.fmha.family = kernel.family;
  problem.fmha.q_tile = costs.q_tile_tokens;
  problem.fmha.kv_tile = costs.kv_tile_tokens;
  problem.pass = question.pass;
  problem.kernel_alone = true;
  return natten_visits(problem).attention;
}

/// Times of one head's CTAs in launch order, when tiles of a launch that masks all alike take the mean.
class CtaTimes {
 public:
  CtaTimes(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs, const LaunchWork& work)
      : question_(question), kernel_(kernel), costs_(costs), masked_us_(costs.masked_tile_us[work.axes - 1]) {
    // FlexAttention masks tile by tile; dense kernels where some tiles of the launch are not masked.
    mixed_ = kernel.family == NattenBackend::kFlexFna || (kernel.dense && work.unmasked_tiles > 0);
    tile_us_ = (work.unmasked_tiles * costs.unmasked_tile_us +
                work.bounds_masked_tiles * costs.bounds_masked_tile_us + work.masked_tiles * masked_us_) /
               std::max(1.0, work.tiles());
  }

  [[nodiscard]] std::vector<double> list() const {
    std::vector<double> times;
    if (question_.pass == Walk::kBackward && kernel_.family == NattenBackend::kFlexFna && !kernel_.in_place) {
      add(question_.mask, question_.tiles, Walk::kBackward, kShareOfKeys, times);
      add(question_.mask, question_.tiles, Walk::kForward, 1 - kShareOfKeys, times);
    } else if (kernel_.dense) {
      add(question_.mask, {{costs_.q_tile_tokens}, {costs_.kv_tile_tokens}}, question_.pass, 1, times);
      if (kernel_.longest_first && question_.pass == Walk::kForward) std::reverse(times.begin(), times.end());
    } else {
      add(question_.mask, question_.tiles, question_.pass, 1, times);
    }
    return times;
  }

 private:
  void add(const NeighborhoodMask& mask, const TilePair& tiles, Walk walk, double share,
           std::vector<double>& times) const {
    for (const CtaVisits& cta : list_ctas(mask, tiles, kernel_.family, walk)) {
      poll();
      const auto all = static_cast<double>(cta.tiles), full = static_cast<double>(cta.full);
      const double tiles_us = mixed_ ? full * costs_.unmasked_tile_us + (all - full) * masked_us_ : all * tile_us_;
      times.push_back(share * (costs_.cta_us + tiles_us));
    }
  }

  const TimeQuestion& question_;
  const TimedKernel& kernel_;
  const PassCosts& costs_;
  double masked_us_ = 0, tile_us_ = 0;
  bool mixed_ = false;
};

/// The longest worker's load in mean CTAs, CTA by CTA.
double simulated_waves(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                       const LaunchWork& work, std::int64_t sms) {
  const std::int64_t repeats = question.sizes.batch * question.sizes.heads;
  const std::vector<double> times = CtaTimes(question, kernel, costs, work).list();
  const GridRun run = run_grid(times, repeats, work.workers, launch_of(question.schedule));
  const double waves = run.busy > 0 ? run.makespan / run.busy * work.ctas / static_cast<double>(work.workers) : 0;
  return run.ctas <= sms ? waves * waves_of_equal(1, sms, costs) : waves;
}

}  // namespace

bool flattens(const TimeQuestion& question, const TimedKernel& kernel) {
  if (kernel.dense || kernel.in_place || kernel.family != NattenBackend::kFlexFna) return false;
  return std::all_of(question.mask.begin(), question.mask.end(),
                     [](const AxisMask& axis) { return axis.window == axis.length && !axis.causal; });
}

bool is_causal_sequence(const TimeQuestion& question) {
  const NeighborhoodMask& mask = question.mask;
  return mask.rank() == 1 && mask[0].causal && mask[0].window == mask[0].length && question.additional_keys == 0;
}

double waves_of_equal(double ctas, std::int64_t sms, const PassCosts& costs) {
  const auto at_once = static_cast<double>(costs.ctas_per_sm);
  const double workers = static_cast<double>(sms) * at_once, rounds = std::floor(ctas / workers);
  const double left = ctas - rounds * workers;
  if (left <= 0) return rounds;
  if (!(costs.lone_share > 0) || left > static_cast<double>(sms)) return rounds + 1;
  return rounds + 1 / (at_once * costs.lone_share);
}

LaunchWork work_of(const TimeQuestion& question, const PassCosts& costs, const Context& context) {
  const Device& device = context.catalog.device(question.device);
  const TimedKernel kernel = timed_kernel(question.kernel, device);
  if (!device.sms) throw InvalidParameter("device", device.name, "a device whose number of SMs is known");
  const std::int64_t sms = device.sms->value;
  const KernelVisits visits = visits_of(question, kernel, costs);
  const std::int64_t repeats = checked_multiply(question.sizes.batch, question.sizes.heads, "heads");
  const bool causal = kernel.dense && is_causal_sequence(question);
  LaunchWork work = launch_work(visits, kernel.dense ? 1 : question.mask.rank(), repeats, sms * costs.ctas_per_sm);
  const bool even = (kernel.dense && !causal) || flattens(question, kernel);
  const bool listed = kernel.family != NattenBackend::kCutlassFna &&
                      question.tiling == Tiling::kMultiDimensional &&
                      checked_multiply(visits.launched_tiles, repeats, "ctas") <= kMostSimulated;
  work.waves = even     ? waves_of_equal(work.ctas, sms, costs)
               : listed ? simulated_waves(question, kernel, costs, work, sms)
                        : uneven_waves(work.ctas, work.workers, causal ? 2 : 1).estimate;
  return work;
}

}  // namespace natten_sim::study
