#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "answers.hpp"

namespace natten_sim::study {
namespace {

/// What is held of a block or sector whose distances are followed, of a block of attention beside that, of a slot of
/// a timed run, and of a line of a cache of sets.
constexpr double kOfSector = 18, kOfBlock = 34, kOfTimedBlock = 68, kOfSlot = 800, kOfLine = 17;

bool follows_distances(const ReuseSetting& setting) {
  const auto* replay = std::get_if<LruReplay>(&*setting.question.method);
  return replay != nullptr && (!std::holds_alternative<SetAssociative>(replay->cache) ||
                               wants_distances(setting.question.details));
}

double lines_of_cache(const ReuseSetting& setting) {
  const auto* replay = std::get_if<LruReplay>(&*setting.question.method);
  const bool sets = replay != nullptr && std::holds_alternative<SetAssociative>(replay->cache);
  if (!sets || !setting.capacity()) return 0;
  return static_cast<double>(*setting.capacity()) / static_cast<double>(*setting.question.line_bytes);
}

struct Cost {
  double steps = 0, bytes = 0;
};

/// Reads of Q, K and V tiles and writes of O tiles, and how many tiles there are.
struct Tiles {
  double items = 1, visits = 1, blocks = 0, sectors = 0, distinct_sectors = 0;
};

Tiles tiles_of(const SplitQProblem& problem) {
  const AttentionTraffic traffic = attention_traffic(problem);
  const OperandSizes& sizes = problem.sizes;
  double kv_rows = 1, q_tiles = 1, kv_tiles = 1;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const std::int64_t keys = key_length(problem, axis);
    kv_rows *= static_cast<double>(std::min(keys, problem.tiles.kv_tile[axis]));
    q_tiles *= static_cast<double>(ceil_divide(problem.mask[axis].length, problem.tiles.q_tile[axis]));
    kv_tiles *= static_cast<double>(ceil_divide(keys, problem.tiles.kv_tile[axis]));
  }
  const double tile_sectors =
      std::max(kv_rows * static_cast<double>(sizes.key_row_bytes()) / static_cast<double>(sizes.sector_bytes), 1.0);
  Tiles tiles;
  tiles.items = q_tiles * static_cast<double>(sizes.heads * sizes.batch);
  tiles.visits = static_cast<double>(traffic.sectors.k) / tile_sectors;
  tiles.blocks = 2 * (tiles.items + kv_tiles * static_cast<double>(sizes.heads_kv * sizes.batch));
  tiles.sectors = static_cast<double>(traffic.sectors.total);
  tiles.distinct_sectors = static_cast<double>(traffic.cold.total);
  return tiles;
}

Cost cost_of_length(const ReuseSetting& setting, const AttentionSetting& attention) {
  const Tiles tiles = tiles_of(attention.problem);
  const double accesses = tiles.visits + 2 * tiles.items;
  const double slots = std::min(static_cast<double>(attention.schedule.workers), tiles.items);
  const ReuseMethod& method = *setting.question.method;
  if (std::holds_alternative<TimedRun>(method) || std::holds_alternative<LruReplay>(method))
    require_simulable_blocks(static_cast<std::int64_t>(std::min(tiles.blocks, 1e18)));
  if (std::holds_alternative<TimedRun>(method))
    return {2 * tiles.visits + 2 * tiles.items, kOfTimedBlock * tiles.blocks + kOfSlot * slots};
  const auto* replay = std::get_if<LruReplay>(&method);
  if (replay == nullptr) return {};
  Cost cost;
  if (follows_distances(setting)) {
    const bool by_sector = replay->granularity == Granularity::kSector;
    cost.steps += accesses + (by_sector ? tiles.sectors : 0);
    cost.bytes += kOfBlock * tiles.blocks + (by_sector ? kOfSector * tiles.distinct_sectors : 0);
  }
  if (std::holds_alternative<SetAssociative>(replay->cache)) {
    const double lines =
        tiles.sectors * static_cast<double>(setting.sector()) / static_cast<double>(*setting.question.line_bytes);
    cost.steps += accesses + lines;
    cost.bytes += 16 * tiles.blocks;
  }
  cost.bytes += 100 * slots + kOfLine * lines_of_cache(setting);
  return cost;
}

/// Orders that are tried for the best one.
double orders_of(const ReuseSetting& setting, const AttentionSetting& attention) {
  const auto tried = [&](const std::optional<ReuseOrder>& order) {
    if (!order || !std::holds_alternative<BestOrder>(*order)) return 1.0;
    const bool known = is_dense(attention.problem) && !std::holds_alternative<TimedRun>(*setting.question.method);
    return known ? 1.0 : static_cast<double>(values_of<KvOrder>().size());
  };
  return tried(setting.question.order) + (setting.question.compare ? tried(setting.question.compare) : 0);
}

Cost cost_of_stream(const ReuseSetting& setting, const StreamSubject& stream) {
  const double sectors = std::ceil(static_cast<double>(stream.bytes) / static_cast<double>(setting.sector()));
  const auto* replay = std::get_if<LruReplay>(&*setting.question.method);
  if (replay == nullptr) return {};
  require_simulable(stream, static_cast<std::int64_t>(sectors), std::holds_alternative<SampledLru>(replay->cache));
  Cost cost{sectors * static_cast<double>(stream.passes), kOfLine * lines_of_cache(setting)};
  if (const auto* sampled = std::get_if<SampledLru>(&replay->cache)) {
    cost.bytes += 130 * sampled->rate * sectors;
  } else if (follows_distances(setting)) {
    cost.bytes += kOfSector * sectors;
  }
  return cost;
}

}  // namespace

std::optional<Estimate> estimate(const ReuseQuestion& question, const Context& given) {
  const auto* asked = std::get_if<AttentionSubject>(&question.subject);
  const WithKernels kernels(given, asked == nullptr ? std::nullopt : asked->kernel);
  const Context& context = kernels.get();
  const ReuseSetting setting = resolve_reuse(question, context.catalog);
  const ReuseSubject& subject = setting.question.subject;
  if (std::holds_alternative<TraceSubject>(subject)) return std::nullopt;
  if (const auto* stream = std::get_if<StreamSubject>(&subject)) {
    const Cost cost = cost_of_stream(setting, *stream);
    const double both = setting.question.compare ? 2 : 1;
    return Estimate{both * cost.steps, std::min(both, static_cast<double>(context.threads)) * cost.bytes, "stream-bytes",
                    std::to_string(stream->bytes)};
  }
  const auto& attention = std::get<AttentionSubject>(subject);
  const double orders = orders_of(setting, *setting.attention);
  const auto* sweep = std::get_if<SeqlenSweep>(&attention.seqlen);
  if (sweep == nullptr) {
    const Cost cost = cost_of_length(setting, *setting.attention);
    const double at_a_time = std::min(setting.question.compare ? 2.0 : 1.0, static_cast<double>(context.threads));
    return Estimate{orders * cost.steps, at_a_time * cost.bytes, "input",
                    to_string(std::get<Extents>(attention.seqlen))};
  }
  Estimate estimate{.option = "sweep", .value = to_string(*sweep)};
  double most = 0;
  std::int64_t lengths = 0;
  for (std::int64_t seqlen = sweep->lo; seqlen <= sweep->hi; seqlen += sweep->step, ++lengths) {
    const Cost cost = cost_of_length(setting, at_length(*setting.attention, seqlen));
    estimate.steps += orders * cost.steps;
    most = std::max(most, cost.bytes);
  }
  estimate.bytes = most * static_cast<double>(std::min<std::int64_t>(lengths, context.threads));
  return estimate;
}

}  // namespace natten_sim::study
