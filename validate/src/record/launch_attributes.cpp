#include "launch_attributes.hpp"

#include <algorithm>
#include <array>

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

}  // namespace

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
