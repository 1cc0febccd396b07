#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

namespace natten_sim {

bool has_causal_program(const PassCosts& costs, std::size_t axes, bool causal) noexcept {
  return causal && axes == 2 && (costs.causal_ctas_per_sm > 0 || costs.causal_two_axes != 1);
}

PassCosts on_axes(PassCosts costs, std::size_t axes, bool causal) noexcept {
  const double added = costs.axes_tile_us[axes - 1], pace = 1 + added / costs.unmasked_tile_us;
  costs.unmasked_tile_us += added;
  costs.bounds_masked_tile_us += added;
  costs.cta_us *= pace;
  costs.axes_tile_us = {};
  if (has_causal_program(costs, axes, causal)) {
    const std::int64_t ctas_per_sm = costs.causal_ctas_per_sm > 0 ? costs.causal_ctas_per_sm : costs.ctas_per_sm;
    costs.unmasked_tile_us *= costs.causal_two_axes;
    costs.bounds_masked_tile_us *= costs.causal_two_axes;
    for (double& masked_us : costs.masked_tile_us) masked_us *= costs.causal_two_axes;
    costs.cta_us *= costs.causal_two_axes;
    costs.lone_share *= costs.causal_two_axes * static_cast<double>(costs.ctas_per_sm) / static_cast<double>(ctas_per_sm);
    costs.ctas_per_sm = ctas_per_sm;
  }
  costs.causal_ctas_per_sm = 0;
  costs.causal_two_axes = 1;
  return costs;
}

LaunchWork launch_work(const KernelVisits& visits, std::size_t axes, std::int64_t repeats,
                       std::int64_t workers, bool causal) {
  if (axes < 1 || axes > 3) throw InvalidParameter("input", std::to_string(axes) + " axes", "1 to 3 axes");
  if (repeats < 1) throw InvalidParameter("heads", std::to_string(repeats), "1 or more");
  if (workers < 1) throw InvalidParameter("workers", std::to_string(workers), "1 or more");
  const auto all = [&](std::int64_t count) {
    return static_cast<double>(count) * static_cast<double>(repeats);
  };
  LaunchWork work;
  work.ctas = all(visits.launched_tiles);
  work.unmasked_tiles = all(visits.unmasked_tiles);
  work.bounds_masked_tiles = all(visits.bounds_masked_tiles);
  work.masked_tiles = all(visits.masked_tiles);
  work.axes = axes;
  work.causal = causal;
  work.workers = workers;
  return work;
}

LaunchWork dense_launch_work(const FmhaKernel& kernel, std::int64_t queries, std::int64_t keys, Walk pass,
                             std::int64_t repeats, std::int64_t workers) {
  // All walked tiles stream the same: one is counted.
  const bool forward = pass == Walk::kForward;
  const KernelVisits one = forward
                               ? fmha_visits(kernel, std::min(queries, kernel.q_tile), keys, false, pass)
                               : fmha_visits(kernel, queries, std::min(keys, kernel.kv_tile), false, pass);
  LaunchWork work = launch_work(one, 1, repeats, workers);
  const auto walked =
      static_cast<double>(forward ? ceil_divide(queries, kernel.q_tile) : ceil_divide(keys, kernel.kv_tile));
  work.ctas *= walked;
  work.unmasked_tiles *= walked;
  work.bounds_masked_tiles *= walked;
  return work;
}

double even_waves(double ctas, std::int64_t workers) {
  return std::ceil(ctas / static_cast<double>(workers));
}

WaveBounds uneven_waves(double ctas, std::int64_t workers, double longest) {
  const double mean = ctas / static_cast<double>(workers);
  WaveBounds bounds;
  bounds.least = std::max(mean, longest);
  bounds.most = mean + (1 - 1 / static_cast<double>(workers)) * longest;
  bounds.estimate = std::clamp(mean + 0.5, bounds.least, std::max(bounds.least, bounds.most));
  return bounds;
}

double slowed_ms(double ms, const PassCosts& costs) noexcept {
  return ms <= 0 ? ms : ms * (1 + costs.slowdown * ms / (ms + costs.slowdown_ms));
}

PassCosts with_rest(PassCosts costs, std::optional<double> rest_ms) noexcept {
  if (rest_ms) costs.slowdown_ms = std::min(costs.slowdown_ms, *rest_ms);
  return costs;
}

namespace {

/// What a CTA of length `own` takes on an SM whose CTAs have the length `all` together, over a mean one beside all others.
double pace_beside(double own, double all, std::int64_t ctas_per_sm, double lone_share) {
  if (ctas_per_sm <= 1) return own;
  const auto raised = [](double value) { return value * value * std::sqrt(value); };
  const auto most = static_cast<double>(ctas_per_sm);
  const double alone = raised(1 / std::max(1.0, most * lone_share));
  const double together = (1 - alone) / (raised(most) - 1);
  return std::pow((alone - together) * raised(own) + together * raised(all), 1 / 2.5);
}

}  // namespace

double shared_pace(std::int64_t resident, std::int64_t ctas_per_sm, double lone_share) {
  if (ctas_per_sm <= 1 || resident >= ctas_per_sm) return 1;
  return pace_beside(1, static_cast<double>(resident), ctas_per_sm, lone_share);
}

double shared_waves(const CtaSpread& spread, std::int64_t ctas_per_sm, double lone_share, double step_jitter, double tile_share) {
  const auto places = static_cast<double>(spread.sms * ctas_per_sm);
  const double full = spread.ctas / places, rounds = std::floor(full);
  const auto on_an_sm = [&](double ctas) { return std::ceil(ctas / static_cast<double>(spread.sms)); };
  const auto length = [&](double of_pairs) { return 1 + (of_pairs - 1) * tile_share; };
  if (full <= 1) {
    const double longest = length(std::max(1.0, spread.longest));
    return pace_beside(longest, longest + on_an_sm(spread.ctas) - 1, ctas_per_sm, lone_share);
  }
  const double left = spread.ctas - rounds * places;
  const auto resident = static_cast<std::int64_t>(on_an_sm(left));
  const double in_step = rounds + (left > 0 ? shared_pace(resident, ctas_per_sm, lone_share) : 0);
  double leaving = 0;
  for (std::int64_t beside = 1; beside <= ctas_per_sm; ++beside)
    leaving += shared_pace(beside, ctas_per_sm, lone_share) / static_cast<double>(ctas_per_sm);
  const double variance = spread.variance * tile_share * tile_share;
  double latest = 0;
  for (const LateCta& cta : spread.late) {
    if (cta.length > 0) latest = std::max(latest, leaving * length(cta.length) - cta.after / places);
  }
  const double out_of_step = std::max(full, full - 0.5 * (1 + variance) + latest);
  constexpr double kTurn = 2 * 3.14159265358979323846;
  const double share = std::exp(-kTurn * kTurn / 2 * (step_jitter * step_jitter + variance) * full);
  return share * in_step + (1 - share) * out_of_step;
}

namespace {

/// CTAs that begin with the same streamed tile wait for each other there: on average for half of them, and for all in a
/// launch of one round, which ends with the last. And what comes before the kernel. `tile_ms`: of one pair, over the workers.
void add_shared(const LaunchWork& work, const PassCosts& costs, double tile_ms, LaunchTime& time) {
  const auto workers = static_cast<double>(work.workers);
  const double together = std::min(work.spread->alike, workers), rounds = std::max(1.0, work.spread->ctas / workers);
  time.prologue_ms += work.spread->ctas * tile_ms * costs.lock_share * (together - 1) / 2 * (1 + 1 / rounds);
  if (costs.prepared_bytes_per_s > 0) time.launch_ms += 1e3 * work.spread->prepared_bytes / costs.prepared_bytes_per_s;
}

}  // namespace

LaunchTime launch_time(const LaunchWork& work, const PassCosts& costs) {
  const double masked_us = costs.masked_tile_us[work.axes - 1];
  const double unmasked_us = costs.unmasked_tile_us + costs.axes_tile_us[work.axes - 1];
  // Microseconds of all workers together, over the workers: what each has if they share evenly.
  const double program = has_causal_program(costs, work.axes, work.causal) ? costs.causal_two_axes : 1;
  const double share_ms = 1e-3 * program / static_cast<double>(work.workers);
  const double pairs_ms = share_ms * work.pace * (1 - costs.clipped_share * work.missing);
  LaunchTime time;
  time.tiles_ms = pairs_ms * work.tiles() * unmasked_us;
  time.masking_ms =
      pairs_ms *
      (work.bounds_masked_tiles * (costs.bounds_masked_tile_us - costs.unmasked_tile_us) +
       work.masked_tiles * (masked_us - unmasked_us));
  time.prologue_ms = share_ms * work.ctas * costs.cta_us * (unmasked_us / std::max(costs.unmasked_tile_us, 1e-12));
  time.launch_ms = 1e-3 * costs.launch_us;
  if (work.spread) add_shared(work, costs, share_ms * unmasked_us, time);
  const double busy_ms = time.tiles_ms + time.masking_ms + time.prologue_ms;
  const double ctas = work.spread ? work.spread->ctas : work.ctas;
  const double waves = work.spread && work.waves == 0
                           ? shared_waves(*work.spread, costs.ctas_per_sm, costs.lone_share, costs.step_jitter,
                                          busy_ms > 0 ? (time.tiles_ms + time.masking_ms) / busy_ms : 1)
                           : work.waves;
  const double even = ctas / static_cast<double>(work.workers);
  time.tail_ms = ctas > 0 ? busy_ms * (waves / even - 1) : 0;
  const double ms = busy_ms + time.tail_ms + time.launch_ms;
  const double slowed = slowed_ms(ms, costs), spared = costs.spared_slowdown * work.masked_tiles / std::max(1.0, work.tiles());
  time.total_ms = slowed - spared * (slowed - ms);
  time.slowdown_ms = time.total_ms - ms;
  return time;
}

}  // namespace natten_sim
