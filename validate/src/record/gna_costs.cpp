#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/record/gna_costs.hpp>

#include "device_number.hpp"
#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

using kernels::attention_forward::Dispatch;
using kernels::attention_forward::VisitedTile;

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
std::optional<ItemCosts> costs_on(const std::string& device, std::int64_t head_dim, Dtype dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::int64_t, Dtype>, std::optional<ItemCosts>> known;
  const std::lock_guard lock(mutex);
  const auto key = std::tuple(device, head_dim, dtype);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::optional<ItemCosts> costs;
  for (const Recording& recording : builtin_costs()) {
    if (recording.head.device.profile == device) costs = gna_costs(recording, head_dim, dtype);
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

}  // namespace

ItemLaunch item_launch(const GnaCase& point, const std::vector<VisitedTile>& visits, std::int64_t sms) {
  ItemLaunch launch;
  launch.heads = point.heads;
  launch.workers = sms;
  if (point.dispatch == Dispatch::kStatic) launch.dispatch = natten_sim::Dispatch::kStatic;
  const VisitedTile* before = nullptr;
  for (const VisitedTile& visit : visits) {
    if (before == nullptr || before->group != visit.group || !(before->q_origin == visit.q_origin))
      launch.head.emplace_back();
    ++(visit.full ? launch.head.back().full : launch.head.back().partial);
    before = &visit;
  }
  return launch;
}

std::optional<ItemCosts> gna_costs(const Recording& recording, std::int64_t head_dim, Dtype dtype) {
  std::vector<TimedItems> timed;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<GnaCase>();
    if (point == nullptr || !row.timing || point->head_dim != head_dim || point->dtype != dtype) continue;
    const std::vector<VisitedTile> visits = visited_tiles(point->mask(), point->q_tile, point->kv_tile);
    timed.push_back(
        {item_launch(*point, visits, recording.head.device.sms), row.timing->milliseconds.median * 1e6});
  }
  if (timed.size() < 4) return std::nullopt;
  return fit_item_costs(timed);
}

std::optional<GnaTime> predicted_time(const GnaCase& point, const std::vector<VisitedTile>& visits,
                                      const Device& device) {
  const std::optional<ItemCosts> costs = costs_on(device.name, point.head_dim, point.dtype);
  if (!costs || !device.sms) return std::nullopt;
  return GnaTime{item_time_ns(item_launch(point, visits, device.sms->value), *costs), fitted_to(point)};
}

}  // namespace natten_sim::validate
