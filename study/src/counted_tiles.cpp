#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/study/counted_tiles.hpp>

namespace natten_sim::study {

std::optional<Flops> flops_that_fit(const TileCount& count, const Workload& workload) {
  try {
    return flops(count, workload);
  } catch (const OverflowError&) {  // counts that fit do not fail because their FLOPs do not
    return std::nullopt;
  }
}

CountedTiles counted_tiles(const TilingProblem& problem, const TileCount& count, const Setting& setting) {
  const Workload workload = workload_of(setting);
  CountedTiles counted{.problem = problem,
                       .count = count,
                       .flops = flops_that_fit(count, workload),
                       .approximate_mma_flops = approximate_mma_flops(count, workload),
                       .natten_fast_path = natten_fast_path(problem)};
  if (setting.add_kv > 0) counted.extra_kv = count_extra_kv(problem, count, setting.add_kv);
  if (const std::optional<AttentionShare> share = share_of(setting)) {
    counted.end_to_end = EndToEndSpeedup{*share, end_to_end_speedup(*share, count.speedup_flop()),
                                         end_to_end_speedup(*share, count.speedup_mean()),
                                         end_to_end_speedup(*share, count.speedup_worst())};
  }
  return counted;
}

}  // namespace natten_sim::study
