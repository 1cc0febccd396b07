#include "launch_waves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

#include "timed_launch.hpp"

namespace natten_sim::study {
namespace {

/// What a CTA's pairs of tiles take.
struct PairCosts {
  PairCosts(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs, const LaunchWork& work)
      : masked_us(costs.masked_tile_us[work.axes - 1]), unmasked_us(costs.unmasked_tile_us), cta_us(costs.cta_us) {
    masks_all = masks_full_tiles(question, kernel, static_cast<std::int64_t>(work.masked_tiles));
    // FlexAttention masks tile by tile; dense kernels where some tiles of the launch are not masked.
    mixed = kernel.family == NattenBackend::kFlexFna || (kernel.dense && work.unmasked_tiles > 0);
    tile_us = (work.unmasked_tiles * costs.unmasked_tile_us +
               work.bounds_masked_tiles * costs.bounds_masked_tile_us + work.masked_tiles * masked_us) /
              std::max(1.0, work.tiles());
  }
  [[nodiscard]] double of(double all, double full) const {
    if (masks_all) full = 0;
    return mixed ? full * unmasked_us + (all - full) * masked_us : all * tile_us;
  }

  double masked_us = 0, unmasked_us = 0, cta_us = 0, tile_us = 0;
  bool mixed = false, masks_all = false;
};

/// Calls add(mask, tiles, walk, share of a pair's time) for each list of CTAs of a kernel without lists of blocks.
template <typename Add>
void for_each_list(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs, const Add& add) {
  const bool of_flex = kernel.family == NattenBackend::kFlexFna && !kernel.in_place && kernel.own == nullptr;
  if (question.pass == Walk::kBackward && of_flex) {
    add(question.mask, question.tiles, Walk::kBackward, kShareOfKeyCtas);
    add(question.mask, question.tiles, Walk::kForward, 1 - kShareOfKeyCtas);
  } else if (kernel.dense) {
    add(question.mask, TilePair{{costs.q_tile_tokens}, {costs.kv_tile_tokens}}, question.pass, 1.0);
  } else {
    add(question.mask, question.tiles, question.pass, 1.0);
  }
}

/// CTAs of sections of heads in launch order: a section's longest Q tiles of all its heads first. As many heads, a
/// power of two, as 32 MiB hold K and V of.
std::vector<double> in_sections(const std::vector<double>& head, std::int64_t heads, double bytes_of_head) {
  constexpr double kSectionBytes = 32 << 20;
  std::int64_t together = 1;
  while (2 * static_cast<double>(together) * bytes_of_head <= kSectionBytes) together *= 2;
  std::vector<double> times;
  for (std::int64_t first = 0; first < heads; first += together) {
    for (const double cta : head)
      times.insert(times.end(), static_cast<std::size_t>(std::min(together, heads - first)), cta);
  }
  return times;
}

/// Each Q tile of all heads before the next one.
std::vector<double> heads_first(const std::vector<double>& head, std::int64_t heads) {
  std::vector<double> times;
  for (const double cta : head) times.insert(times.end(), static_cast<std::size_t>(heads), cta);
  return times;
}

bool is_persistent(const TimeQuestion& question, const TimedKernel& kernel) {
  return (kernel.own != nullptr && kernel.own->schedule == CtaSchedule::kPersistent) ||
         launch_of(question.schedule) == CtaSchedule::kPersistent;
}

bool shares_sms(const PassCosts& costs) { return costs.lone_share > 0 && costs.ctas_per_sm > 1; }

/// The CTAs of a launch, by what its axes have.
struct LaunchCtas {
  double count = 0, busy_us = 0;
  double longest_us = 0, longest_least_us = 0;  ///< the longest one is between these
  double shortest_us = 0;                       ///< at most the shortest one
};

LaunchCtas launch_ctas(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                       const LaunchWork& work, AxisCtaMemo& memo) {
  const PairCosts pair(question, kernel, costs, work);
  const bool exact = !pair.mixed || pair.masks_all;
  LaunchCtas launch;
  for_each_list(question, kernel, costs, [&](const NeighborhoodMask& mask, const TilePair& tiles, Walk walk, double share) {
    double count = 1, all = 1, full = 1, most = 1, least = 1, most_full = 1, least_full = 1;
    for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
      const AxisCtas& ctas = memo.ctas(mask[axis], axis_tiles(tiles, axis, walk), kernel.family, walk);
      count *= ctas.count;
      all *= ctas.tiles;
      full *= ctas.full;
      most *= static_cast<double>(ctas.most_tiles);
      least *= static_cast<double>(ctas.least_tiles);
      most_full *= static_cast<double>(ctas.most_full);
      least_full *= static_cast<double>(ctas.least_full);
    }
    const double fewest_full = exact ? 0 : least_full, mostly_full = exact ? 0 : std::min(most_full, least);
    launch.busy_us += share * (count * pair.cta_us + pair.of(all, full));
    launch.longest_us = std::max(launch.longest_us, share * (pair.cta_us + pair.of(most, fewest_full)));
    const double longest_least = share * (pair.cta_us + pair.of(most, exact ? 0 : std::min(most_full, most)));
    launch.longest_least_us = std::max(launch.longest_least_us, longest_least);
    const double shortest = share * (pair.cta_us + pair.of(least, mostly_full));
    launch.shortest_us = launch.count == 0 ? shortest : std::min(launch.shortest_us, shortest);
    launch.count += count;
  });
  return launch;
}

}  // namespace

std::int64_t repeats_of(const TimeQuestion& question) {
  return checked_multiply(question.sizes.batch, question.sizes.heads, "heads") / question.ctas_heads;
}

bool masks_full_tiles(const TimeQuestion& question, const TimedKernel& kernel, std::int64_t partial_tiles) {
  return kernel.own != nullptr && kernel.own->masking == KernelMasking::kVisitedTiles && partial_tiles > 0 &&
         !flattens(question, kernel);
}

std::vector<double> cta_times(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                              const LaunchWork& work) {
  const PairCosts pair(question, kernel, costs, work);
  std::vector<double> times;
  const auto add = [&](const CtaVisits& cta, double share) {
    poll();
    times.push_back(share * (pair.cta_us + pair.of(static_cast<double>(cta.tiles), static_cast<double>(cta.full))));
  };
  if (question.ctas) {
    for (const CtaWork& cta : *question.ctas) add(cta.visits, cta.share);
  } else {
    for_each_list(question, kernel, costs, [&](const NeighborhoodMask& mask, const TilePair& tiles, Walk walk, double share) {
      for (const CtaVisits& cta : list_ctas(mask, tiles, kernel.family, walk)) add(cta, share);
    });
  }
  const bool of_last = kernel.longest_first && question.pass == Walk::kForward;
  if (of_last && (kernel.own != nullptr || (kernel.dense && !question.ctas))) std::reverse(times.begin(), times.end());
  return times;
}

double simulated_waves(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                       const LaunchWork& work, std::int64_t sms) {
  std::int64_t repeats = repeats_of(question);
  std::vector<double> times = cta_times(question, kernel, costs, work);
  if (kernel.sequences) {
    const auto row = static_cast<double>(question.sizes.head_dim * 4);  // a key's K and V
    times = in_sections(times, std::exchange(repeats, 1),
                        row * static_cast<double>(product(input_of(question.mask), "tokens")));
  }
  if (kernel.own != nullptr && kernel.own->launch == LaunchOrder::kHeadsFirst)
    times = heads_first(times, std::exchange(repeats, 1));
  const double even = work.ctas / static_cast<double>(work.workers);
  if (shares_sms(costs)) {
    const double busy_us = std::accumulate(times.begin(), times.end(), 0.0) * static_cast<double>(repeats);
    const double makespan_us = run_shared(times, repeats, {sms, costs.ctas_per_sm, costs.lone_share});
    return busy_us > 0 ? even * makespan_us * static_cast<double>(work.workers) / busy_us : 0;
  }
  const CtaSchedule schedule = is_persistent(question, kernel) ? CtaSchedule::kPersistent : CtaSchedule::kGrid;
  const GridRun run = run_grid(times, repeats, work.workers, schedule);
  return run.busy > 0 ? run.makespan / run.busy * even : 0;
}

const AxisCtas& AxisCtaMemo::ctas(const AxisMask& axis, const AxisTiles& tiles, NattenBackend family, Walk walk) {
  std::uint64_t hash = 8 * static_cast<std::uint64_t>(family) + 4 * static_cast<std::uint64_t>(walk) + 2 * (axis.causal ? 1 : 0) + (axis.cyclic ? 1 : 0);
  for (const std::int64_t part : {axis.length, axis.window, axis.stride, axis.dilation, tiles.walked, tiles.streamed}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  Entry& entry = entries_[hash % kEntries];
  if (entry.known && entry.axis == axis && entry.tiles == tiles && entry.walk == walk && entry.family == family)
    return entry.ctas;
  const bool forward = walk == Walk::kForward;
  const TilePair pair{{forward ? tiles.walked : tiles.streamed}, {forward ? tiles.streamed : tiles.walked}};
  AxisCtas ctas;
  for (const CtaVisits& cta : list_ctas({axis}, pair, family, walk)) {
    const bool first = ctas.count == 0;
    ctas.least_tiles = first ? cta.tiles : std::min(ctas.least_tiles, cta.tiles);
    ctas.least_full = first ? cta.full : std::min(ctas.least_full, cta.full);
    ctas.most_tiles = std::max(ctas.most_tiles, cta.tiles);
    ctas.most_full = std::max(ctas.most_full, cta.full);
    ctas.count += 1;
    ctas.tiles += static_cast<double>(cta.tiles);
    ctas.full += static_cast<double>(cta.full);
  }
  entry = {axis, tiles, family, walk, true, ctas};
  return entry.ctas;
}

std::optional<WaveBounds> bounded_waves(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                                        const LaunchWork& work, AxisCtaMemo& memo) {
  if (question.ctas || kernel.dense || shares_sms(costs)) return std::nullopt;
  const LaunchCtas launch = launch_ctas(question, kernel, costs, work, memo);
  const double ctas = launch.count * static_cast<double>(repeats_of(question));
  const double mean_us = launch.busy_us / launch.count, workers = static_cast<double>(work.workers);
  if (!(mean_us > 0)) return std::nullopt;
  const double longest = launch.longest_us / mean_us, longest_least = std::max(1.0, launch.longest_least_us / mean_us);
  constexpr double kRounding = 1e-9;
  WaveBounds bounds = uneven_waves(ctas, work.workers, longest);
  if (longest - launch.shortest_us / mean_us < kRounding) {
    bounds.least = bounds.most = even_waves(ctas, work.workers);
  } else if (ctas <= workers) {
    bounds = {longest_least, longest, longest};
  } else {
    bounds.least = std::max(ctas / workers, longest_least);
    if (is_persistent(question, kernel)) bounds.most = std::ceil(ctas / workers) * longest;
  }
  bounds.estimate = std::clamp(bounds.estimate, bounds.least, std::max(bounds.least, bounds.most));
  // In mean CTAs of the launch as it is counted: FlexAttention's backward pass has two lists.
  const double scale = work.ctas / ctas;
  return WaveBounds{scale * bounds.least, scale * bounds.estimate, scale * bounds.most};
}

}  // namespace natten_sim::study
