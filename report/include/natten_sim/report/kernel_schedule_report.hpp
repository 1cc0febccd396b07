#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

namespace natten_sim::report {

/// `result`: {"kernel": {"name", "order", "deterministic", "unordered", "ratio", ..}}; times are null where
/// the kernel has no costs, and `missing` says why. See docs/schedule-times.md.
[[nodiscard]] Json kernel_schedule_result(const study::KernelScheduleAnswer& answer);
[[nodiscard]] Json kernel_schedule_schema();

/// "10,000,000 tokens (measured: 512 to 65,536), window masks"; empty: nothing lies outside.
[[nodiscard]] std::string outside_text(const study::CallInterval& interval);

/// One row.
[[nodiscard]] Rows kernel_schedule_rows(const study::KernelScheduleAnswer& answer);

///     kernel         fa4, tiles 64x128 (Q x KV), 132 workers
///     deterministic  4.69 ms, 586 TFLOP/s: spt, sections of 2 heads, ..
///     unordered      3.98 ms, 690 TFLOP/s: grid: KV tiles fastest, then heads, then batch
[[nodiscard]] std::string kernel_schedule_text(const study::KernelScheduleAnswer& answer);

}  // namespace natten_sim::report
