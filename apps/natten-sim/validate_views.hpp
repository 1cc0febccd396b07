#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/validate/suite.hpp>

#include "count_json.hpp"

namespace natten_sim::cli {

/// What `validate --view` shows of a folder of recordings: one table, as objects with the same keys, as text
/// and, for some, as a picture. docs/cli.md names the fields.
struct ValidateView {
  std::vector<Json> rows;
  Json empty_row;  ///< the keys, for a header without rows
  std::string text;
  std::string svg;  ///< empty: this view is a table only
};

/// Space-separated.
inline constexpr const char* kValidateViews =
    "heat-map sensitivity decisions misses throughput parting active-sms capacity";
inline constexpr const char* kDrawnViews = "heat-map, misses, throughput, active-sms";

/// @throws InvalidParameter when the folder lacks what the view shows.
[[nodiscard]] ValidateView validate_view(const std::string& name, const std::string& folder,
                                         const std::vector<validate::Suite>& suites,
                                         const std::vector<Device>& devices);

/// Every view that the folder has the recordings for, as a piece of HTML: pictures and tables.
[[nodiscard]] std::string validate_views_html(const std::string& folder,
                                              const std::vector<validate::Suite>& suites,
                                              const std::vector<Device>& devices);

}  // namespace natten_sim::cli
