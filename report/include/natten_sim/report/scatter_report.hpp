#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::report {

/// Views of what atomic updates cost. Text:
///
///     time                     580.3 ms   bound: hottest-address
///       hottest address        580.3 ms
///       ...
///     remedy                   time  expected within  speedup  extra memory  asks for  bound

/// The `result` object; docs/cli-memory.md has the fields. Parts that the answer lacks are left out.
[[nodiscard]] Json scatter_fields(const study::ScatterAnswer& answer);
[[nodiscard]] Json scatter_schema();
/// One object a remedy.
[[nodiscard]] std::vector<Json> remedy_rows(const std::vector<Remedy>& remedies);
/// A line a remedy, or a release where releases are compared.
[[nodiscard]] Rows scatter_rows(const study::ScatterAnswer& answer);
[[nodiscard]] std::string scatter_text(const study::ScatterAnswer& answer);

/// A sentence if most additions do not change their word; empty if they do, or if the values vary.
[[nodiscard]] std::optional<std::string> saturation_note(const study::ScatterAnswer& answer);

/// "65536 x 256 bf16, uniform, h200".
[[nodiscard]] std::string scatter_title(const study::ScatterAnswer& answer);

// What the views of `msda` share with these.

/// The remedies as a table, with times over "as-is".
[[nodiscard]] std::string remedies_text(const std::vector<Remedy>& remedies);
/// "12.3 us", "4.0 KiB".
[[nodiscard]] std::string time_text(double ns);
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace natten_sim::report
