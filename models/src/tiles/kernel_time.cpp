#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

namespace natten_sim {

LaunchWork launch_work(const KernelVisits& visits, std::size_t axes, std::int64_t repeats,
                       std::int64_t workers) {
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

LaunchTime launch_time(const LaunchWork& work, const PassCosts& costs) {
  const double masked_us = costs.masked_tile_us[work.axes - 1];
  // Microseconds of all workers together, over the workers: what each has if they share evenly.
  const double share_ms = 1e-3 / static_cast<double>(work.workers);
  LaunchTime time;
  time.tiles_ms = share_ms * work.tiles() * costs.unmasked_tile_us;
  time.masking_ms =
      share_ms * (work.bounds_masked_tiles * (costs.bounds_masked_tile_us - costs.unmasked_tile_us) +
                  work.masked_tiles * (masked_us - costs.unmasked_tile_us));
  time.prologue_ms = share_ms * work.ctas * costs.cta_us;
  const double busy_ms = time.tiles_ms + time.masking_ms + time.prologue_ms;
  const double even = work.ctas / static_cast<double>(work.workers);
  time.tail_ms = work.ctas > 0 ? busy_ms * (work.waves / even - 1) : 0;
  time.launch_ms = 1e-3 * costs.launch_us;
  const double ms = busy_ms + time.tail_ms + time.launch_ms;
  time.total_ms = slowed_ms(ms, costs);
  time.slowdown_ms = time.total_ms - ms;
  return time;
}

}  // namespace natten_sim
