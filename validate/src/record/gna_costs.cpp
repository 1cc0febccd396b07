#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/attention_forward/tile_order.hpp>
#include <natten_sim/validate/record/gna_costs.hpp>

#include "device_number.hpp"
#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

using kernels::attention_forward::Dispatch;
using kernels::attention_forward::Neighborhood;
using kernels::attention_forward::Problem;
using kernels::attention_forward::VisitedTile;
using kernels::attention_forward::WalkedTile;

const std::vector<Recording>& builtin_costs() {
  static const std::vector<Recording> recordings = [] {
    std::vector<Recording> parsed;
    for (const SuiteText& text : embedded::gna_costs())
      parsed.push_back(parse_recording(text.json, text.where));
    return parsed;
  }();
  return recordings;
}

/// Fitted once a device and kernel.
std::optional<ItemCosts> costs_on(const Device& device, std::int64_t head_dim, Dtype dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::int64_t, Dtype>, std::optional<ItemCosts>> known;
  const std::lock_guard lock(mutex);
  const auto key = std::tuple(constants_key(device), head_dim, dtype);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::optional<ItemCosts> costs;
  for (const Recording& recording : builtin_costs()) {
    if (recording.head.device.profile == device.name) costs = gna_costs(recording, device, head_dim, dtype);
  }
  return known[key] = costs;
}

bool fitted_to(const GnaCase& point) {
  const std::string key = point.key();
  for (const Recording& recording : builtin_costs()) {
    for (const RecordedRow& row : recording.rows) {
      if (key_of(row.point) == key) return true;
    }
  }
  return false;
}

/// Pairs of queries of a Q tile and keys that attend, over those of a whole tile.
double attending_tiles(const GnaCase& point, const NeighborhoodMask& mask, const VisitedTile& visit) {
  double pairs = 1, queries = 1;
  std::int64_t group = visit.group;
  for (std::size_t axis = mask.rank(); axis-- > 0; group /= mask[axis].dilation) {
    const AxisGroup of = residue_class(mask[axis], group % mask[axis].dilation);
    const std::int64_t begin = visit.q_origin[axis];
    double of_axis = 0;
    const std::int64_t end = std::min(begin + point.q_tile[axis], of.length);
    queries *= static_cast<double>(end - begin);
    for (std::int64_t query = begin; query < end; ++query) {
      const TokenRange range = attended_range(of, query);
      of_axis += static_cast<double>(std::min(range.end, of.length) - range.begin);
    }
    pairs *= of_axis;
  }
  pairs += queries * static_cast<double>(point.add_kv);
  return pairs / static_cast<double>(product(point.q_tile, "q_tile") * product(point.kv_tile, "kv_tile"));
}

double read_bytes(const GnaCase& point, const Device& device) {
  if (const std::optional<double> cold = cold_reads(point, device)) return *cold;
  if (const std::optional<double> timed = timed_reads(point, device)) return *timed;
  return static_cast<double>(((point.heads + 2 * point.heads_kv) * product(point.input, "tokens") +
                              2 * point.heads_kv * point.add_kv) *
                             point.head_dim * element_bytes(point.dtype));
}

}  // namespace

ItemLaunch item_launch(const GnaCase& point, const Device& device) {
  ItemLaunch launch;
  launch.heads = point.heads;
  launch.workers = device.sms->value;
  launch.dram_bytes = read_bytes(point, device);
  if (point.dispatch == Dispatch::kStatic) launch.dispatch = natten_sim::Dispatch::kStatic;
  const std::int64_t side = product(point.kv_tile, "kv_tile");
  const Problem problem = point.problem();
  const auto& neighborhood = std::get<Neighborhood>(problem.mask);
  const bool by_products = best_kernel(problem).mask_products > 0;
  const VisitedTile* before = nullptr;
  for (const WalkedTile& walked : walked_tiles(neighborhood)) {
    const VisitedTile& visit = *walked.tile;
    if (before == nullptr || before->group != visit.group || !(before->q_origin == visit.q_origin)) {
      launch.head.push_back({.full = point.add_kv / side,
                             .partial = point.add_kv % side == 0 ? 0 : 1,
                             .attending = attending_tiles(point, neighborhood.mask, visit)});
    }
    before = &visit;
    ItemTiles& item = launch.head.back();
    ++(visit.full ? item.full : item.partial);
    if (by_products && walked.needs_several()) ++item.second_masks;
  }
  return launch;
}

std::optional<ItemCosts> gna_costs(const Recording& recording, const Device& device, std::int64_t head_dim,
                                   Dtype dtype) {
  constexpr std::size_t kFewest = 7;
  std::vector<TimedItems> timed;
  if (!device.sms) return std::nullopt;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<GnaCase>();
    if (point == nullptr || !row.timing || point->head_dim != head_dim || point->dtype != dtype) continue;
    timed.push_back({item_launch(*point, device), row.timing->milliseconds.median * 1e6});
  }
  if (timed.size() < kFewest) return std::nullopt;
  return fit_item_costs(timed);
}

std::optional<GnaTime> predicted_time(const GnaCase& point, const Device& device) {
  const std::optional<ItemCosts> costs = costs_on(device, point.head_dim, point.dtype);
  if (!costs || !device.sms) return std::nullopt;
  return GnaTime{item_time_ns(item_launch(point, device), *costs), fitted_to(point)};
}

}  // namespace natten_sim::validate
