#include <algorithm>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

#include "answers.hpp"
#include "timed.hpp"

namespace natten_sim::study {
namespace {

AttentionWork work_of(const AttentionSetting& attention, const ReuseOrder& order) {
  AttentionSchedule schedule = attention.schedule;
  if (const auto* own = std::get_if<OwnOrder>(&order)) {
    std::visit([&](const auto& walk) { schedule.order = walk; }, own->walk);
  } else {
    schedule.order = std::get<KvOrder>(order);
  }
  return AttentionWork(attention.problem, schedule);
}

/// Sets the members that are the same at every fidelity.
ReuseResult traffic_of(const ReuseSetting& setting, const AttentionSetting& attention,
                       const AttentionTraffic& traffic) {
  ReuseResult result;
  result.sectors = {traffic.sectors.q, traffic.sectors.k, traffic.sectors.v, traffic.sectors.o,
                    traffic.sectors.total};
  result.cold_sectors = traffic.cold.total;
  result.dram_write_bytes = checked_multiply(traffic.cold.o, setting.sector(), "dram_write_bytes");
  if (setting.capacity() && setting.question.details.first_noncompulsory_seqlen) {
    result.first_noncompulsory_seqlen =
        first_noncompulsory_seqlen(attention.problem, attention.schedule.workers, *setting.capacity());
  }
  return result;
}

/// Whether the formula knows this schedule: it has the cut Q tile in the last wave.
bool has_closed_form(const AttentionSetting& attention) {
  const AttentionSchedule& schedule = attention.schedule;
  const bool cut_tile_first =
      schedule.last_q_tile_first && attention.problem.mask[0].length % attention.problem.tiles.q_tile[0] != 0;
  return attention.problem.rows == nullptr && schedule.schedule != CtaSchedule::kTile && schedule.launch == LaunchOrder::kTilesFirst &&
         !cut_tile_first;
}

/// Distances by formula, if there is one.
void set_formula_distances(const ReuseSetting& setting, const AttentionSetting& attention, KvOrder order,
                           ReuseResult& result) {
  const ReuseDetails& details = setting.question.details;
  const std::int64_t workers = attention.schedule.workers;
  const std::optional<LockstepDistances> distances = lockstep_distances(attention.problem, order, workers);
  if (!distances) return;
  std::vector<ReuseProfile::Point> histogram;
  for (const DistanceBucket& bucket : distances->histogram)
    histogram.push_back({bucket.upto_bytes, bucket.count});
  if (details.mean_distance) result.mean_distance_bytes = distances->mean_bytes;
  if (details.curve) {
    result.curve = sampled_curve(histogram, [&](std::int64_t capacity) {
      return lockstep_reuse(attention.problem, order, workers, capacity)->miss_sectors;
    });
  }
  if (details.histogram) result.histogram = std::move(histogram);
}

void add_closed_form(const ReuseSetting& setting, const AttentionSetting& attention, const ReuseOrder& order,
                     const AttentionTraffic& traffic, ReuseResult& result) {
  const auto* named = std::get_if<KvOrder>(&order);
  if (named == nullptr) (void)work_of(attention, order);  // refuses what is not a permutation
  const bool formula = named != nullptr && has_closed_form(attention);
  if (formula && wants_distances(setting.question.details))
    set_formula_distances(setting, attention, *named, result);
  if (!setting.capacity()) return;
  const std::optional<LockstepReuse> reuse =
      formula ? lockstep_reuse(attention.problem, *named, attention.schedule.workers, *setting.capacity())
              : std::nullopt;
  if (reuse) {
    set_misses({reuse->load_miss_sectors, reuse->store_miss_sectors}, setting.sector(), result);
  } else if (checked_multiply(traffic.cold.total, setting.sector(), "bytes") <= *setting.capacity()) {
    const SectorCounts& cold = traffic.cold;  // everything fits
    set_misses({cold.q + cold.k + cold.v, cold.o}, setting.sector(), result);
  }
}

/// Misses of the lockstep trace in a set-associative cache; tiles lie one after the other in memory.
MissSectors set_associative_misses(const ReuseSetting& setting, const AttentionWork& work,
                                   SetAssociativeCache& cache) {
  const std::int64_t line_bytes = *setting.question.line_bytes, sector = setting.sector();
  std::vector<std::optional<std::int64_t>> first(static_cast<std::size_t>(work.blocks()));
  std::int64_t next = 0;
  MissSectors misses;
  for_each_lockstep_access(work, [&](const BlockAccess& access) {
    std::optional<std::int64_t>& base = first[static_cast<std::size_t>(access.block)];
    const std::int64_t lines = ceil_divide(access.bytes, line_bytes);
    if (!base) base = std::exchange(next, next + lines);
    std::int64_t& missed = access.operand == Operand::kOutput ? misses.stores : misses.loads;
    for (std::int64_t i = 0; i < lines; ++i) {
      poll();
      const std::int64_t bytes = std::min(line_bytes, access.bytes - i * line_bytes);
      if (!cache.access(static_cast<std::uint64_t>(*base + i))) missed += bytes / sector;
    }
  });
  return misses;
}

void add_replay(const ReuseSetting& setting, const LruReplay& replay, const AttentionWork& work,
                const Progress& progress, ReuseResult& result) {
  const ReuseDetails& details = setting.question.details;
  std::optional<SetAssociativeCache> cache = cache_of(setting);
  if (!cache || wants_distances(details)) {
    const ReuseProfile profile = replay_lockstep(work, replay.granularity, progress);
    set_distances(profile, details, result);
    if (!setting.capacity()) return;
    // O tiles are stored once, so they are cold; all other misses are loads.
    const std::int64_t stores = *result.dram_write_bytes / setting.sector();
    if (!cache) set_misses({profile.misses(*setting.capacity()) - stores, stores}, setting.sector(), result);
  }
  if (cache) set_misses(set_associative_misses(setting, work, *cache), setting.sector(), result);
}

void add_timed(const ReuseSetting& setting, const AttentionSetting& attention, const AttentionWork& work,
               const Progress& progress, ReuseResult& result) {
  const ReuseDetails& details = setting.question.details;
  WavefrontOptions options = attention.wavefront_options;
  options.record_distances = wants_distances(details);
  WavefrontDevice device = *attention.wavefront;
  place_ctas(setting, work, std::get<TimedRun>(*setting.question.method), device);
  const WavefrontRun run = run_wavefront(work, device, options, progress);
  if (run.profile) set_distances(*run.profile, details, result);
  result.time_ns = run.time_ns;
  result.fabric_sectors = run.fabric_sectors;
  set_misses({run.load_miss_sectors, *result.dram_write_bytes / setting.sector()}, setting.sector(), result);
}

ReuseResult answer_order(const ReuseSetting& setting, const AttentionSetting& attention,
                         const ReuseOrder& order, const Progress& progress) {
  const AttentionTraffic traffic = attention_traffic(attention.problem);
  ReuseResult result = traffic_of(setting, attention, traffic);
  result.order = order;
  if (const auto* replay = std::get_if<LruReplay>(&*setting.question.method)) {
    add_replay(setting, *replay, work_of(attention, order), progress, result);
  } else if (std::holds_alternative<TimedRun>(*setting.question.method)) {
    add_timed(setting, attention, work_of(attention, order), progress, result);
  } else {
    add_closed_form(setting, attention, order, traffic, result);
  }
  return result;
}

}  // namespace

ReuseResult answer_attention(const ReuseSetting& setting, const AttentionSetting& attention,
                             const ReuseOrder& order, const Progress& progress) {
  if (!std::holds_alternative<BestOrder>(order)) return answer_order(setting, attention, order, progress);
  const Fidelity fidelity = fidelity_of(*setting.question.method);
  if (is_dense(attention.problem) && fidelity != Fidelity::kTimed)  // proved
    return answer_order(setting, attention, best_order_of_full_passes(), progress);
  if (fidelity == Fidelity::kClosedForm || !setting.capacity()) {
    throw InvalidParameter("order", "best",
                           mention("fidelity") +
                               " lru or timed and a capacity: only for dense attention is the best order "
                               "known beforehand");
  }
  // Fewest misses; ties go to the first.
  std::optional<ReuseResult> best;
  const std::vector<KvOrder> orders = values_of<KvOrder>();
  for (std::size_t i = 0; i < orders.size(); ++i) {
    ReuseResult result =
        answer_order(setting, attention, orders[i],
                     part_of(progress, static_cast<int>(i), static_cast<int>(orders.size())));
    if (!best || *result.miss_sectors < *best->miss_sectors) best = std::move(result);
  }
  return *best;
}

}  // namespace natten_sim::study
