#include "reuse_answer.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/attention_traffic.hpp>
#include <natten_sim/models/scan_reuse.hpp>
#include <natten_sim/sim/sampled_stack_distance.hpp>

#include "trace_reader.hpp"

namespace natten_sim::cli {
namespace {

/// Sectors of a simulated stream (20 bytes each are held), and how often they may be read: minutes of work.
constexpr std::int64_t kMostSimulatedSectors = std::int64_t{1} << 26;
constexpr std::int64_t kMostSimulatedReads = std::int64_t{1} << 34;
/// Distinct sectors of a trace, or sampled ones, that are held: about 3 GB.
constexpr std::int64_t kMostTraceSectors = std::int64_t{1} << 25;

bool dense(const SplitQProblem& problem) {
  return std::all_of(problem.mask.begin(), problem.mask.end(),
                     [](const AxisMask& axis) { return axis.window == axis.length && !axis.causal; });
}

void set_misses(std::int64_t misses, std::int64_t stores, std::int64_t sector_bytes, ReuseAnswer& answer) {
  answer.miss_sectors = misses;
  answer.hit_rate = 1.0 - static_cast<double>(misses) / static_cast<double>(answer.sectors.total);
  answer.dram_read_bytes = checked_multiply(misses - stores, sector_bytes, "dram_read_bytes");
}

void set_profile(const ReuseProfile& profile, ReuseAnswer& answer) {
  answer.mean_distance_bytes = profile.mean_bytes();
  answer.histogram = profile.histogram();
  answer.curve = profile.miss_curve();
}

/// What holds for attention at any fidelity.
ReuseAnswer traffic_answer(const ReuseRequest& request) {
  const AttentionTraffic traffic = attention_traffic(request.problem);
  ReuseAnswer answer;
  answer.sectors = {traffic.sectors.q, traffic.sectors.k, traffic.sectors.v, traffic.sectors.o,
                    traffic.sectors.total};
  answer.cold_sectors = traffic.cold.total;
  answer.dram_write_bytes = checked_multiply(traffic.cold.o, request.sector_bytes, "dram_write_bytes");
  answer.effective_capacity_bytes = request.capacity_bytes;
  if (request.capacity_bytes) {
    answer.first_noncompulsory_seqlen =
        first_noncompulsory_seqlen(request.problem, request.schedule.workers, *request.capacity_bytes);
  }
  return answer;
}

KvOrder walked(const OrderChoice& order) {
  if (const auto* permutations = std::get_if<KvPermutations>(&order.order)) return *permutations;
  return std::get<Traversal>(order.order);
}

AttentionWork work_of(const ReuseRequest& request, const KvOrder& order) {
  AttentionSchedule schedule = request.schedule;
  schedule.order = order;
  return AttentionWork(request.problem, schedule);
}

/// Misses of the lockstep trace in a set-associative cache; tiles lie one after the other in memory.
std::int64_t set_associative_misses(const ReuseRequest& request, const AttentionWork& work) {
  SetAssociativeCache cache(
      {.sets = sets_of_capacity(*request.capacity_bytes, *request.ways, request.line_bytes),
       .ways = *request.ways,
       .replacement = request.replacement,
       .index = request.index});
  std::vector<std::int64_t> first(static_cast<std::size_t>(work.blocks()), -1);
  std::int64_t next = 0, misses = 0;
  for_each_lockstep_access(work, [&](const BlockAccess& access) {
    std::int64_t& base = first[static_cast<std::size_t>(access.block)];
    const std::int64_t lines = ceil_divide(access.bytes, request.line_bytes);
    if (base < 0) base = std::exchange(next, next + lines);
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t bytes = std::min(request.line_bytes, access.bytes - i * request.line_bytes);
      if (!cache.access(static_cast<std::uint64_t>(base + i))) misses += bytes / request.sector_bytes;
    }
  });
  return misses;
}

/// A formula's misses at 16 capacities an octave, where its histogram has counts.
std::vector<ReuseProfile::Point> sampled_curve(const std::vector<ReuseProfile::Point>& histogram,
                                               const std::function<std::int64_t(std::int64_t)>& misses) {
  constexpr std::int64_t kSteps = 16;
  std::vector<ReuseProfile::Point> curve = {{0, misses(0)}};
  if (histogram.empty()) return curve;
  const std::int64_t first = std::max<std::int64_t>(1, histogram.front().bytes / 2);
  for (std::int64_t octave = first; octave < histogram.back().bytes; octave *= 2) {
    for (std::int64_t i = 1; i <= kSteps; ++i) {
      const std::int64_t capacity = octave + octave * i / kSteps;
      if (capacity > curve.back().bytes) curve.push_back({capacity, misses(capacity)});
    }
  }
  return curve;
}

/// The closed form has the cut Q tile in the last wave.
bool cut_tile_comes_first(const ReuseRequest& request) {
  return request.schedule.last_q_tile_first &&
         request.problem.mask[0].length % request.problem.tiles.q_tile[0] != 0;
}

void answer_closed_form(const ReuseRequest& request, const OrderChoice& order, ReuseAnswer& answer) {
  const AttentionTraffic traffic = attention_traffic(request.problem);
  const auto* traversal = std::get_if<Traversal>(&order.order);
  if (traversal == nullptr) (void)work_of(request, walked(order));  // refuses what is not a permutation
  std::optional<LockstepReuse> reuse;
  if (traversal != nullptr && request.schedule.schedule != Schedule::kTile &&
      request.schedule.launch == LaunchOrder::kTilesFirst && !cut_tile_comes_first(request)) {
    reuse = lockstep_reuse(request.problem, *traversal, request.schedule.workers,
                           request.capacity_bytes.value_or(0));
  }
  if (reuse) {
    answer.mean_distance_bytes = reuse->mean_distance_bytes;
    for (const DistanceBucket& bucket : reuse->histogram)
      answer.histogram.push_back({bucket.upto_bytes, bucket.count});
    answer.curve = sampled_curve(answer.histogram, [&](std::int64_t capacity) {
      return lockstep_reuse(request.problem, *traversal, request.schedule.workers, capacity)->miss_sectors;
    });
  }
  if (!request.capacity_bytes) return;
  if (reuse) {
    set_misses(reuse->miss_sectors, traffic.cold.o, request.sector_bytes, answer);
  } else if (checked_multiply(traffic.cold.total, request.sector_bytes, "bytes") <= *request.capacity_bytes) {
    set_misses(traffic.cold.total, traffic.cold.o, request.sector_bytes, answer);  // everything fits
  }
}

void answer_simulated(const ReuseRequest& request, const OrderChoice& order, const Progress& progress,
                      ReuseAnswer& answer) {
  const AttentionWork work = work_of(request, walked(order));
  const std::int64_t stores = *answer.sectors.o;
  if (request.fidelity == Fidelity::kTimed) {
    WavefrontOptions options = wavefront_options(request);
    options.record_distances = true;
    const WavefrontRun run = run_wavefront(work, wavefront_device(request), options, progress);
    set_profile(*run.profile, answer);
    answer.time_ns = run.time_ns;
    set_misses(run.load_miss_sectors + stores, stores, request.sector_bytes, answer);
    return;
  }
  const ReuseProfile profile = replay_lockstep(work, request.granularity, progress);
  set_profile(profile, answer);
  if (!request.capacity_bytes) return;
  const std::int64_t misses =
      request.ways ? set_associative_misses(request, work) : profile.misses(*request.capacity_bytes);
  set_misses(misses, stores, request.sector_bytes, answer);
}

ReuseAnswer answer_attention(const ReuseRequest& request, const OrderChoice& order,
                             const Progress& progress) {
  ReuseAnswer answer = traffic_answer(request);
  answer.order = order.text;
  if (request.fidelity == Fidelity::kClosedForm) {
    answer_closed_form(request, order, answer);
  } else {
    answer_simulated(request, order, progress, answer);
  }
  return answer;
}

/// Fewest misses; ties go to the first of cyclic, sawtooth, descending.
ReuseAnswer answer_best(const ReuseRequest& request, const Progress& progress) {
  const auto named = [](Traversal traversal) { return OrderChoice{to_string(traversal), traversal}; };
  const bool proved = dense(request.problem) && request.fidelity != Fidelity::kTimed;
  if (proved) return answer_attention(request, named(best_order_of_full_passes()), progress);
  if (request.fidelity == Fidelity::kClosedForm || !request.capacity_bytes) {
    throw InvalidParameter(
        "order", "best",
        "--fidelity lru or timed and a capacity: only for dense attention is the best order "
        "known beforehand");
  }
  std::optional<ReuseAnswer> best;
  for (const Traversal traversal : {Traversal::kCyclic, Traversal::kSawtooth, Traversal::kDescending}) {
    ReuseAnswer answer = answer_attention(request, named(traversal), progress);
    if (!best || *answer.miss_sectors < *best->miss_sectors) best = std::move(answer);
  }
  return *best;
}

std::optional<SetAssociativeCache> cache_of(const ReuseRequest& request) {
  if (!request.ways) return std::nullopt;
  return SetAssociativeCache(
      {.sets = sets_of_capacity(*request.capacity_bytes, *request.ways, request.line_bytes),
       .ways = *request.ways,
       .replacement = request.replacement,
       .index = request.index});
}

std::optional<SampledStackDistances> sample_of(const ReuseRequest& request) {
  if (!request.sample) return std::nullopt;
  return SampledStackDistances(*request.sample);
}

/// A simulated stream: what its first reader sees; the others read the same sectors right behind it.
void simulate_stream(const ReuseRequest& request, Traversal order, const Progress& progress,
                     ReuseAnswer& answer) {
  const StreamSubject& stream = *request.stream;
  const std::int64_t sector = request.sector_bytes;
  const std::int64_t sectors = ceil_divide(stream.bytes, sector);
  if (!request.sample && sectors > kMostSimulatedSectors) {
    throw InvalidParameter("stream-bytes", std::to_string(stream.bytes),
                           "at most 2^26 sectors to simulate; --sample or closed-form beyond");
  }
  if (stream.passes > kMostSimulatedReads / sectors) {
    throw InvalidParameter("passes", std::to_string(stream.passes),
                           "at most 2^34 sectors read in all; closed-form beyond");
  }
  std::optional<SetAssociativeCache> cache = cache_of(request);
  std::optional<SampledStackDistances> sample = sample_of(request);
  StackDistances distances(request.sample ? 0 : sectors);
  ReuseProfile profile;
  std::int64_t line_misses = 0, last_line = -1;
  for (std::int64_t pass = 0; pass < stream.passes; ++pass) {
    const bool down = order == Traversal::kDescending || (order == Traversal::kSawtooth && pass % 2 != 0);
    for (std::int64_t i = 0; i < sectors; ++i) {
      const std::int64_t at = down ? sectors - 1 - i : i;
      if (sample) {
        sample->access(static_cast<std::uint64_t>(at), sector);
      } else {
        profile.add(distances.access(at, sector));
      }
      if (cache) {  // a line is fetched whole, and its sectors are read together
        const std::int64_t line = at * sector / request.line_bytes;
        if (line == std::exchange(last_line, line) && i > 0) continue;
        const std::int64_t line_sectors =
            std::min(request.line_bytes / sector, sectors - line * (request.line_bytes / sector));
        if (!cache->access(static_cast<std::uint64_t>(line))) line_misses += line_sectors;
      }
    }
    if (progress) progress(static_cast<double>(pass + 1) / static_cast<double>(stream.passes));
  }
  const std::int64_t followers =
      checked_multiply(checked_multiply(stream.readers - 1, stream.passes, "sectors"), sectors, "sectors");
  if (sample) {
    set_profile(sample->pooled(), answer);
    if (!request.capacity_bytes) return;
    const MissRatioEstimate estimate = sample->miss_ratio(*request.capacity_bytes);
    if (estimate.sampled_accesses == 0)
      throw InvalidParameter("sample", fmt::format("{}", *request.sample),
                             "a larger share: none of the sectors was sampled");
    const auto leader = static_cast<double>(stream.passes) * static_cast<double>(sectors);
    set_misses(std::llround(estimate.miss_ratio * leader), 0, sector, answer);
    answer.miss_ratio_standard_error =
        estimate.standard_error * leader / static_cast<double>(answer.sectors.total);
    return;
  }
  if (followers > 0) profile.add(sector, followers);
  set_profile(profile, answer);
  if (request.capacity_bytes)
    set_misses(cache ? line_misses : profile.misses(*request.capacity_bytes), 0, sector, answer);
}

ReuseAnswer answer_stream(const ReuseRequest& request, const OrderChoice& order, const Progress& progress) {
  const StreamSubject& stream = *request.stream;
  const auto* named = std::get_if<Traversal>(&order.order);
  const Traversal traversal = named == nullptr ? best_order_of_full_passes() : *named;
  const std::int64_t sector = request.sector_bytes;
  const std::int64_t sectors = ceil_divide(stream.bytes, sector);
  const std::int64_t passes = checked_multiply(sectors, stream.passes, "sectors");
  ReuseAnswer answer;
  answer.order = to_string(traversal);
  answer.sectors.total = checked_multiply(passes, stream.readers, "sectors");
  answer.cold_sectors = sectors;
  answer.effective_capacity_bytes = request.capacity_bytes;
  answer.dram_write_bytes = 0;
  if (request.fidelity == Fidelity::kLru) {
    simulate_stream(request, traversal, progress, answer);
    return answer;
  }
  const RepeatedScan scan{.bytes = checked_multiply(sectors, sector, "bytes"),
                          .block_bytes = sector,
                          .passes = stream.passes,
                          .order = traversal,
                          .last_between_bytes = std::nullopt};
  const std::int64_t reused = answer.sectors.total - sectors;
  const auto misses = [&](std::int64_t capacity) {
    return capacity < sector ? answer.sectors.total : missed_bytes(scan, capacity) / sector;
  };
  if (request.capacity_bytes) set_misses(misses(*request.capacity_bytes), 0, sector, answer);
  if (reused == 0) return answer;
  const double followers = static_cast<double>(answer.sectors.total - passes) * static_cast<double>(sector);
  const double leader = mean_stack_distance_bytes(scan).value_or(0) * static_cast<double>(passes - sectors);
  answer.mean_distance_bytes = (followers + leader) / static_cast<double>(reused);
  std::int64_t below = answer.sectors.total;
  for (std::int64_t upto = 1; below > sectors; upto *= 2) {
    const std::int64_t at = misses(upto);
    if (at == answer.sectors.total) continue;
    answer.histogram.push_back({upto, below - at});
    below = at;
  }
  answer.curve = sampled_curve(answer.histogram, misses);
  return answer;
}

ReuseAnswer answer_trace(const ReuseRequest& request, const Progress& progress) {
  const auto sector = static_cast<std::uint64_t>(request.sector_bytes);
  const auto line = static_cast<std::uint64_t>(request.line_bytes);
  std::optional<SetAssociativeCache> cache = cache_of(request);
  std::optional<SampledStackDistances> sample = sample_of(request);
  std::unordered_map<std::uint64_t, std::int64_t> numbers;
  StackDistances distances;
  ReuseProfile profile;
  std::int64_t misses = 0, accesses = 0;
  const auto take = [&](std::uint64_t at) {
    ++accesses;
    const std::int64_t held = sample ? sample->sampled_blocks() : distances.distinct_blocks();
    if (held > kMostTraceSectors) {
      throw InvalidParameter("trace",
                             "more than 2^25 distinct sectors" + std::string(sample ? " in the sample" : ""),
                             sample ? "a smaller --sample" : "--sample RATE, which follows a share of them");
    }
    if (sample) {
      sample->access(at, request.sector_bytes);
      return;
    }
    const auto number = numbers.try_emplace(at, static_cast<std::int64_t>(numbers.size())).first->second;
    profile.add(distances.access(number, request.sector_bytes));
    if (cache && !cache->access(at * sector / line)) ++misses;
  };
  read_trace(
      *request.trace_path,
      [&](const TraceAccess& access) {
        const auto bytes = access.bytes == 0 ? std::uint64_t{1} : static_cast<std::uint64_t>(access.bytes);
        for (std::uint64_t at = access.address / sector; at <= (access.address + bytes - 1) / sector; ++at)
          take(at);
      },
      progress);
  if (accesses == 0) throw MalformedData("trace " + *request.trace_path, "no access", "one access or more");
  ReuseAnswer answer;
  answer.order = "trace";
  answer.sectors.total = accesses;
  answer.effective_capacity_bytes = request.capacity_bytes;
  answer.cold_sectors =
      sample ? std::llround(static_cast<double>(sample->pooled().cold()) / sample->rate()) : profile.cold();
  set_profile(sample ? sample->pooled() : profile, answer);
  if (!request.capacity_bytes) return answer;
  if (sample) {
    const MissRatioEstimate estimate = sample->miss_ratio(*request.capacity_bytes);
    if (estimate.sampled_accesses == 0)
      throw InvalidParameter("sample", fmt::format("{}", *request.sample),
                             "a larger share: none of the sectors was sampled");
    set_misses(std::llround(estimate.miss_ratio * static_cast<double>(accesses)), 0, request.sector_bytes,
               answer);
    answer.miss_ratio_standard_error = estimate.standard_error;
  } else {
    set_misses(cache ? misses : profile.misses(*request.capacity_bytes), 0, request.sector_bytes, answer);
  }
  return answer;
}

}  // namespace

ReuseAnswer answer_reuse(const ReuseRequest& request, const OrderChoice& order, const Progress& progress) {
  if (request.trace_path) return answer_trace(request, progress);
  if (request.stream) return answer_stream(request, order, progress);
  if (std::holds_alternative<BestOrder>(order.order)) return answer_best(request, progress);
  return answer_attention(request, order, progress);
}

std::int64_t timed_dram_read_bytes(const ReuseRequest& request, const Progress& progress) {
  const AttentionWork work = work_of(request, walked(request.order));
  const WavefrontRun run =
      run_wavefront(work, wavefront_device(request), wavefront_options(request), progress);
  return checked_multiply(run.load_miss_sectors, request.sector_bytes, "dram_read_bytes");
}

}  // namespace natten_sim::cli
