#pragma once

#include <string>

#include <natten_sim/report/rows.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/validate/record/device_profile.hpp>

namespace natten_sim::report {

// A device profile that was made of measurements:
//
//   my-gpu   NVIDIA H100 80GB HBM3
//   l2_effective_bytes            26,168,850   measured: 24.96 MiB ..
//   not measured: dense_bf16_flops_per_s, boost_clock_hz

[[nodiscard]] Json profile_json(const validate::ProfiledDevice& made);
[[nodiscard]] Json profile_schema();
[[nodiscard]] Rows profile_rows(const validate::ProfiledDevice& made);
[[nodiscard]] std::string profile_text(const validate::ProfiledDevice& made);

}  // namespace natten_sim::report
