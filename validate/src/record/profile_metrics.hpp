#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <natten_sim/validate/record/ncu_csv.hpp>

namespace natten_sim::validate {

/// A metric of Nsight Compute that is kept of a launch: one of the counter table, by its name or by the one
/// that the details page shows, or another metric that counts the same.
struct ProfileMetric {
  std::string_view label;  ///< of the counter table; or kDramBytes
  std::string_view metric;
  std::string_view unit;  ///< before scaling
  double scale = 1;
  bool alias = false;  ///< gives way to the counter table's own metric
};
/// Bytes read and written together: ProfiledLaunch::dram_bytes.
inline constexpr std::string_view kDramBytes = "dram_bytes";
[[nodiscard]] std::optional<ProfileMetric> find_profile_metric(std::string_view name);

/// Keeps the value of a metric, scaled.
void store_metric(const ProfileMetric& metric, double scaled, ProfiledLaunch& launch);
/// What follows from several metrics: reads as all bytes less the written ones.
void complete_metrics(ProfiledLaunch& launch);

/// Keeps what a launch needs of one value of Nsight Compute; other names are ignored. `name` is the metric's,
/// or the one that the details page shows.
void store_attribute(const std::string& name, double value, ProfiledLaunch& launch);
void store_attribute_text(const std::string& name, const std::string& value, ProfiledLaunch& launch);
/// Whether store_attribute() keeps that name.
[[nodiscard]] bool is_attribute(const std::string& name);

}  // namespace natten_sim::validate
