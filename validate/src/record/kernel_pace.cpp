#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/measure/timing.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>

#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kMaxJitter = 0.5;  // that the timed model takes

/// Whatever the CTAs an SM.
bool same_kernel(const AttentionCase& a, const AttentionCase& b) {
  return a.variant.engine == b.variant.engine && a.problem.head_dim == b.problem.head_dim &&
         a.variant.q_tile == b.variant.q_tile && a.variant.kv_tile == b.variant.kv_tile &&
         a.variant.stages == b.variant.stages;
}

double pairs_per_ns(const AttentionCase& point, const CtaPace& pace) {
  double sum = 0;
  for (const double ns : pace.tile_ns) sum += double(point.variant.q_tile) * point.variant.kv_tile / ns;
  return sum;
}

/// Tiles from which on single tiles do not matter that only begin late because the one before ended late.
constexpr std::int64_t kFewTiles = 32;

/// Variation of tiles and of items apart, from cycles: that of 32 to 1024 tiles in a row is the tiles', and
/// what whole items vary by beyond it is the items'. Without marks all of it is taken for the tiles'.
void set_jitter(const CtaPace& recorded, study::MeasuredPace& pace) {
  std::vector<double> of_a_tile;
  for (std::size_t i = 0; i + 1 < recorded.variation.size(); ++i) {
    const TileVariation& each = recorded.variation[i];
    if (each.tiles >= kFewTiles) of_a_tile.push_back(each.deviation * std::sqrt(double(each.tiles)));
  }
  if (of_a_tile.empty()) {
    pace.jitter = std::min(kMaxJitter, recorded.jitter);
    return;
  }
  pace.jitter = std::min(kMaxJitter, spread_of(of_a_tile).median);
  const TileVariation& item = recorded.variation.back();
  const double whole = item.deviation * item.deviation, tiles = pace.jitter * pace.jitter / double(item.tiles);
  pace.item_jitter = std::min(kMaxJitter, std::sqrt(std::max(0.0, whole - tiles)));
}

KernelPace kernel_pace(const RecordingHead& head, const RecordedRow& full, const RecordedRow& lone) {
  const auto& point = *full.point.as<AttentionCase>();
  KernelPace result;
  result.device = head.device.profile;
  result.problem = point.problem;
  result.variant = point.variant;
  result.pace.pairs_per_ns = pairs_per_ns(point, *full.pace);
  result.pace.lone_share =
      std::min(1.0, pairs_per_ns(*lone.point.as<AttentionCase>(), *lone.pace) / result.pace.pairs_per_ns);
  const std::vector<double>& ns = full.pace->tile_ns;
  double sum = 0;
  for (const double each : ns) sum += each;
  result.pace.slot_skew = (ns.back() - ns.front()) / (sum / static_cast<double>(ns.size()));
  result.pace.score_share = full.pace->score_share.value_or(result.pace.score_share);
  result.pace.arrival_ns = full.pace->arrival_ns.value_or(0);
  set_jitter(*full.pace, result.pace);
  return result;
}

}  // namespace

std::vector<KernelPace> kernel_paces(const Recording& recording) {
  std::vector<KernelPace> paces;
  for (const RecordedRow& full : recording.rows) {
    const auto* const point = full.point.as<AttentionCase>();
    if (point == nullptr || !full.pace ||
        full.pace->tile_ns.size() != static_cast<std::size_t>(point->variant.ctas_per_sm) ||
        full.pace->jitter == 0) {
      continue;
    }
    for (const RecordedRow& lone : recording.rows) {
      const auto* const other = lone.point.as<AttentionCase>();
      if (other == nullptr || !lone.pace || lone.pace->tile_ns.size() != 1 || !same_kernel(*point, *other))
        continue;
      paces.push_back(kernel_pace(recording.head, full, lone));
      break;
    }
  }
  if (paces.empty())
    throw MalformedData("recording of " + recording.head.suite, "no paces", "the suite 'pace'");
  return paces;
}

const std::vector<KernelPace>& builtin_paces() {
  static const std::vector<KernelPace> paces = [] {
    std::vector<KernelPace> all;
    for (const SuiteText& text : embedded::paces()) {
      const std::vector<KernelPace> some = kernel_paces(parse_recording(text.json, text.where));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return paces;
}

std::optional<study::TimedRun> timed_run(const Device& device, const kernels::AttentionProblem& problem,
                                         const kernels::AttentionVariant& variant) {
  const std::vector<KernelPace>& paces = builtin_paces();
  const auto pace = std::find_if(paces.begin(), paces.end(), [&](const KernelPace& each) {
    const kernels::AttentionVariant &a = each.variant, &b = variant;
    return each.device == device.name && a.engine == b.engine && each.problem.head_dim == problem.head_dim &&
           a.q_tile == b.q_tile && a.kv_tile == b.kv_tile && a.stages == b.stages &&
           a.ctas_per_sm == b.ctas_per_sm;
  });
  if (pace == paces.end() || !device.l2.effective_bytes || !device.l2.partitions || !device.l2.ways ||
      !device.launch_runs || !device.l2.hit_bytes_per_s || !device.l2.miss_bytes_per_s ||
      !device.dram_bytes_per_s || !device.sms) {
    return std::nullopt;
  }
  constexpr std::uint64_t kSeed = 1;
  return study::TimedRun{.jitter = std::nullopt, .pace = pace->pace, .stages = variant.stages, .seed = kSeed};
}

}  // namespace natten_sim::validate
