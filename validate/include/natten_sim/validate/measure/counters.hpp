#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace natten_sim::validate {

/// Every hardware counter that this project reads. A counter whose metric has another name on some chips has
/// one row for each name, with the same label. Recordings, comparisons and reports refer to `label`, the
/// profiler to `metric`.
struct CounterSpec {
  std::string_view label;    ///< "dram_read_bytes": unit included; the key in recordings
  std::string_view metric;   ///< as CUPTI and Nsight Compute name it
  std::string_view unit;     ///< unit of the value after scaling: "byte", "sector", "ns"
  double scale = 1;          ///< label's value = scale * metric's value
  std::string_view meaning;  ///< one sentence
  std::string_view chips;    ///< comma-separated CUPTI chip names on which the metric exists
};

[[nodiscard]] std::span<const CounterSpec> counter_table() noexcept;
/// The first row of that label. @throws UnknownName with the closest label.
[[nodiscard]] const CounterSpec& counter(std::string_view label);
/// The row of that label for a chip, or null when the chip has no such counter. @throws UnknownName.
[[nodiscard]] const CounterSpec* counter_on(std::string_view label, std::string_view chip);
/// The rows of those labels that a chip has. A chip that the table does not list is assumed to have all of
/// them under their first names, as newer chips mostly do. @throws UnknownName.
[[nodiscard]] std::vector<const CounterSpec*> counters_on(const std::vector<std::string>& labels,
                                                          std::string_view chip);
/// The counter with that metric name, or null.
[[nodiscard]] const CounterSpec* find_metric(std::string_view metric) noexcept;
/// Whether the table says that the counter exists on that chip.
[[nodiscard]] bool exists_on(const CounterSpec& counter, std::string_view chip) noexcept;

/// Chips that the table lists, by CUPTI's names: those of A100, H100 and H200, B200, RTX PRO 6000 and RTX
/// 5090.
[[nodiscard]] std::span<const std::string_view> counter_chips() noexcept;

}  // namespace natten_sim::validate
