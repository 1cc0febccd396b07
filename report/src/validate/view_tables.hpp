#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/validation_views.hpp>

namespace natten_sim::report::views {

using Cells = std::vector<std::vector<std::string>>;

[[nodiscard]] inline std::string cell(const std::optional<double>& value, fmt::format_string<double> format,
                                      double scale = 1) {
  return value ? fmt::format(format, scale * *value) : "-";
}
[[nodiscard]] inline std::string cell(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

[[nodiscard]] inline const char* mask_word(bool causal) { return causal ? "causal" : "full"; }

/// Below what is there already, with a title.
inline void append_table(const Cells& cells, std::string& text, const std::string& title) {
  text += (text.empty() ? "" : "\n") + title + "\n" + text_table(cells);
}

/// The profile of the recorded GPU. One of another size (a slice) or of no profile has no predictions, but
/// is shown all the same: an empty profile.
[[nodiscard]] Device device_of(const validate::Recording& recording, const std::vector<Device>& devices);

inline constexpr const char* kDeviceMeaning = "GPU, as its driver names it";
[[nodiscard]] inline const std::string& device_name(const validate::Recording& recording) {
  return recording.head.device.name;
}

inline constexpr const char* kNeedsFewSms = "a recording of the suite active-sms";

}  // namespace natten_sim::report::views
