#include <algorithm>
#include <cmath>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

#include "answers.hpp"

namespace natten_sim::study {
namespace {

/// Sectors of a simulated stream (20 bytes each are held), and how often they may be read: minutes of work.
constexpr std::int64_t kMaxSimulatedSectors = std::int64_t{1} << 26;
constexpr std::int64_t kMaxSimulatedReads = std::int64_t{1} << 34;

/// The reads of the first worker; the others read the same sectors right behind it.
struct StreamWalk {
  std::int64_t sector = 32;
  std::int64_t sectors = 0;
  std::int64_t passes = 1;
  KvOrder order = KvOrder::kCyclic;

  [[nodiscard]] bool descends(std::int64_t pass) const {
    return order == KvOrder::kDescending || (order == KvOrder::kSawtooth && pass % 2 != 0);
  }

  template <typename Visit>
  void for_each_sector(const Progress& progress, const Visit& visit) const {
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const bool down = descends(pass);
      for (std::int64_t i = 0; i < sectors; ++i) {
        poll();
        visit(down ? sectors - 1 - i : i);
      }
      if (progress) progress(static_cast<double>(pass + 1) / static_cast<double>(passes));
    }
  }
};

void replay_sampled(const ReuseSetting& setting, const StreamWalk& walk, SampledStackDistances sample,
                    const Progress& progress, ReuseResult& result) {
  walk.for_each_sector(progress,
                       [&](std::int64_t at) { sample.access(static_cast<std::uint64_t>(at), walk.sector); });
  const ReuseDetails& details = setting.question.details;
  if (wants_distances(details)) set_distances(sample.pooled(), details, result);
  if (!setting.capacity()) return;
  const MissRatioEstimate estimate = estimated_misses(sample, *setting.capacity());
  const auto leader = static_cast<double>(walk.passes) * static_cast<double>(walk.sectors);
  set_misses({.loads = std::llround(estimate.miss_ratio * leader)}, walk.sector, result);
  result.miss_ratio_standard_error =
      estimate.standard_error * leader / static_cast<double>(result.sectors.total);
}

/// A line is fetched whole, and its sectors are read together.
std::int64_t replay_sets(const StreamWalk& walk, std::int64_t line_bytes, SetAssociativeCache cache,
                         const Progress& progress) {
  std::int64_t misses = 0;
  std::optional<std::int64_t> last_line;
  const std::int64_t line_sectors = line_bytes / walk.sector;
  walk.for_each_sector(progress, [&](std::int64_t at) {
    const std::int64_t line = at * walk.sector / line_bytes;
    // A pass that begins in the line where the last one ended finds it there.
    if (std::exchange(last_line, line) == line) return;
    if (!cache.access(static_cast<std::uint64_t>(line)))
      misses += std::min(line_sectors, walk.sectors - line * line_sectors);
  });
  return misses;
}

void replay_exactly(const ReuseSetting& setting, const StreamWalk& walk, std::int64_t followers,
                    const Progress& progress, ReuseResult& result) {
  const ReuseDetails& details = setting.question.details;
  std::optional<SetAssociativeCache> cache = cache_of(setting);
  if (!cache || wants_distances(details)) {
    StackDistances distances(walk.sectors);
    ReuseProfile profile;
    walk.for_each_sector(progress, [&](std::int64_t at) { profile.add(distances.access(at, walk.sector)); });
    if (followers > 0) profile.add(walk.sector, followers);
    set_distances(profile, details, result);
    if (!cache && setting.capacity())
      set_misses({.loads = profile.misses(*setting.capacity())}, walk.sector, result);
  }
  if (cache) {
    set_misses({.loads = replay_sets(walk, *setting.question.line_bytes, *std::move(cache), progress)},
               walk.sector, result);
  }
}

void add_formula(const ReuseSetting& setting, const StreamWalk& walk, ReuseResult& result) {
  const ReuseDetails& details = setting.question.details;
  const RepeatedScan scan{.bytes = checked_multiply(walk.sectors, walk.sector, "bytes"),
                          .block_bytes = walk.sector,
                          .passes = walk.passes,
                          .order = walk.order,
                          .last_between_bytes = std::nullopt};
  const std::int64_t total = result.sectors.total, reused = total - walk.sectors;
  const auto misses = [&](std::int64_t capacity) {
    return capacity < walk.sector ? total : missed_bytes(scan, capacity) / walk.sector;
  };
  if (setting.capacity()) set_misses({.loads = misses(*setting.capacity())}, walk.sector, result);
  if (reused == 0) return;
  if (details.mean_distance) {
    const std::int64_t passes = walk.sectors * walk.passes;
    const double followers = static_cast<double>(total - passes) * static_cast<double>(walk.sector);
    const double leader =
        mean_stack_distance_bytes(scan).value_or(0) * static_cast<double>(passes - walk.sectors);
    result.mean_distance_bytes = (followers + leader) / static_cast<double>(reused);
  }
  if (!details.histogram && !details.curve) return;
  std::vector<ReuseProfile::Point> histogram;
  std::int64_t below = total;
  for (std::int64_t upto = 1; below > walk.sectors; upto *= 2) {
    const std::int64_t at = misses(upto);
    if (at == total) continue;
    histogram.push_back({upto, below - at});
    below = at;
  }
  if (details.curve) result.curve = sampled_curve(histogram, misses);
  if (details.histogram) result.histogram = std::move(histogram);
}

}  // namespace

void require_simulable(const StreamSubject& stream, std::int64_t sectors, bool sampled) {
  if (!sampled && sectors > kMaxSimulatedSectors) {
    throw InvalidParameter(
        "stream-bytes", std::to_string(stream.bytes),
        "at most 2^26 sectors to simulate; " + mention("sample") + " or closed-form beyond");
  }
  if (stream.passes > kMaxSimulatedReads / sectors) {
    throw InvalidParameter("passes", std::to_string(stream.passes),
                           "at most 2^34 sectors read in all; closed-form beyond");
  }
}

ReuseResult answer_stream(const ReuseSetting& setting, const StreamSubject& stream, const ReuseOrder& order,
                          const Progress& progress) {
  const auto* named = std::get_if<KvOrder>(&order);
  const StreamWalk walk{.sector = setting.sector(),
                        .sectors = ceil_divide(stream.bytes, setting.sector()),
                        .passes = stream.passes,
                        .order = named == nullptr ? best_order_of_full_passes() : *named};
  const std::int64_t passes = checked_multiply(walk.sectors, walk.passes, "sectors");
  ReuseResult result;
  result.order = walk.order;
  result.sectors.total = checked_multiply(passes, *stream.workers, "sectors");
  result.cold_sectors = walk.sectors;
  result.dram_write_bytes = 0;
  if (!std::holds_alternative<LruReplay>(*setting.question.method)) {
    add_formula(setting, walk, result);
    return result;
  }
  std::optional<SampledStackDistances> sample = sample_of(setting);
  require_simulable(stream, walk.sectors, sample.has_value());
  if (sample) {
    replay_sampled(setting, walk, *std::move(sample), progress, result);
  } else {
    replay_exactly(setting, walk, result.sectors.total - passes, progress, result);
  }
  return result;
}

}  // namespace natten_sim::study
