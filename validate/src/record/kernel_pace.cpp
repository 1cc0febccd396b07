#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>

#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kMaxJitter = 0.5;  // that the timed model takes

/// Whatever the CTAs an SM.
bool same_kernel(const AttentionCase& a, const AttentionCase& b) {
  return a.problem.head_dim == b.problem.head_dim && a.variant.q_tile == b.variant.q_tile &&
         a.variant.kv_tile == b.variant.kv_tile && a.variant.stages == b.variant.stages;
}

double pairs_per_ns(const AttentionCase& point, const CtaPace& pace) {
  double sum = 0;
  for (const double ns : pace.tile_ns) sum += double(point.variant.q_tile) * point.variant.kv_tile / ns;
  return sum;
}

KernelPace kernel_pace(const RecordingHead& head, const RecordedRow& full, const RecordedRow& lone) {
  const auto& point = *full.point.as<AttentionCase>();
  KernelPace result;
  result.device = head.device.profile;
  result.problem = point.problem;
  result.variant = point.variant;
  result.sm_pairs_per_ns = pairs_per_ns(point, *full.pace);
  result.lone_share =
      std::min(1.0, pairs_per_ns(*lone.point.as<AttentionCase>(), *lone.pace) / result.sm_pairs_per_ns);
  const std::vector<double>& ns = full.pace->tile_ns;
  double sum = 0;
  for (const double each : ns) sum += each;
  result.slot_skew = (ns.back() - ns.front()) / (sum / static_cast<double>(ns.size()));
  result.jitter = std::min(kMaxJitter, full.pace->jitter);
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
  static const std::vector<KernelPace> all = [] {
    std::vector<KernelPace> paces;
    for (const SuiteText& recording : embedded::paces()) {
      const std::vector<KernelPace> read = kernel_paces(parse_recording(recording.json, recording.where));
      paces.insert(paces.end(), read.begin(), read.end());
    }
    return paces;
  }();
  return all;
}

}  // namespace natten_sim::validate
