#include "profile_metrics.hpp"

#include <algorithm>
#include <array>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/validate/measure/counters.hpp>

namespace natten_sim::validate {
namespace {

enum class Attribute { kSharedBytes, kCtaLimit, kSms };

struct AttributeName {
  const char* metric;
  const char* shown;  ///< on the details page
  Attribute attribute;
};

constexpr std::array<AttributeName, 7> kAttributes = {
    {{"launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block", Attribute::kSharedBytes},
     {"launch__occupancy_limit_barriers", "Block Limit Barriers", Attribute::kCtaLimit},
     {"launch__occupancy_limit_blocks", "Block Limit SM", Attribute::kCtaLimit},
     {"launch__occupancy_limit_registers", "Block Limit Registers", Attribute::kCtaLimit},
     {"launch__occupancy_limit_shared_mem", "Block Limit Shared Mem", Attribute::kCtaLimit},
     {"launch__occupancy_limit_warps", "Block Limit Warps", Attribute::kCtaLimit},
     {"launch__sm_count", "# SMs", Attribute::kSms}}};
constexpr double kMaxAttribute = 1e9;

const AttributeName* find_attribute(const std::string& name) {
  const auto* const found =
      std::find_if(kAttributes.begin(), kAttributes.end(),
                   [&](const AttributeName& each) { return name == each.metric || name == each.shown; });
  return found == kAttributes.end() ? nullptr : found;
}

/// Other names than the counter table's.
constexpr std::array<ProfileMetric, 4> kOthers = {
    {{"dram_read_bytes", "dram__sectors_read.sum", "sector", kSectorBytes, true},
     {"dram_write_bytes", "dram__sectors_write.sum", "sector", kSectorBytes, true},
     {kDramBytes, "dram__bytes.sum", "byte", 1, true},
     {"gpu_time_ns", "Duration", "ns", 1, true}}};

}  // namespace

std::optional<ProfileMetric> find_profile_metric(std::string_view name) {
  if (const CounterSpec* const spec = find_metric(name))
    return ProfileMetric{spec->label, spec->metric, spec->unit, spec->scale, false};
  const auto* const other = std::find_if(kOthers.begin(), kOthers.end(),
                                         [&](const ProfileMetric& each) { return each.metric == name; });
  return other == kOthers.end() ? std::nullopt : std::optional(*other);
}

void store_metric(const ProfileMetric& metric, double scaled, ProfiledLaunch& launch) {
  if (metric.label == kDramBytes) {
    launch.dram_bytes = scaled;
  } else if (metric.alias) {
    launch.counters.emplace(metric.label, scaled);
  } else {
    launch.counters[std::string(metric.label)] = scaled;
  }
}

void complete_metrics(ProfiledLaunch& launch) {
  const auto written = launch.counters.find("dram_write_bytes");
  if (!launch.dram_bytes || written == launch.counters.end() || *launch.dram_bytes < written->second) return;
  launch.counters.emplace("dram_read_bytes", *launch.dram_bytes - written->second);
}

void store_attribute(const std::string& name, double value, ProfiledLaunch& launch) {
  const AttributeName* const known = find_attribute(name);
  if (known == nullptr || !(value >= 0 && value <= kMaxAttribute)) return;
  const auto count = static_cast<std::int64_t>(value + 0.5);
  switch (known->attribute) {
    case Attribute::kSharedBytes:
      launch.shared_bytes = count;
      break;
    case Attribute::kCtaLimit:
      if (count > 0) launch.ctas_per_sm = std::min(launch.ctas_per_sm.value_or(count), count);
      break;
    case Attribute::kSms:
      if (count > 0) launch.sms = count;
      break;
  }
}

void store_attribute_text(const std::string& name, const std::string& value, ProfiledLaunch& launch) {
  if (name == "device__attribute_display_name") launch.gpu = value;
}

bool is_attribute(const std::string& name) { return find_attribute(name) != nullptr; }

}  // namespace natten_sim::validate
