#pragma once

#include <optional>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/regime_map.hpp>

namespace natten_sim::report::views {

inline constexpr const char* kNeedsTilesAndSdpa =
    "a recording of the suite tiles and one of scripts/timing regimes, of one device and driver";

/// The suite tiles beside PyTorch's times; empty unless there are recordings of both on just one device.
[[nodiscard]] std::optional<validate::RegimeMap> recorded_map(const RecordedData& data);

}  // namespace natten_sim::report::views
