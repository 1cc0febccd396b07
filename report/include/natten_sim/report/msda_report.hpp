#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/study/msda.hpp>

namespace natten_sim::report {

/// Views of a pass of multi-scale deformable attention. Text:
///
///     time                      1.27 ms   bound: memory-parallelism; eager-mode latency 1.27 ms
///     corner reads           61,440,000   of 15,360,000 samples
///     ...
///     order        time  of linear  L2 misses  L2 hit rate  DRAM

/// The `result` object: the first pass, and one object an order if there are more; docs/cli-memory.md has the
/// fields.
[[nodiscard]] Json msda_fields(const study::MsdaAnswer& answer);
[[nodiscard]] Json msda_schema();
/// One object an order, which is also a line of CSV.
[[nodiscard]] std::vector<Json> msda_order_rows(const study::MsdaAnswer& answer);
/// The first pass, and a table of all of them if there are more.
[[nodiscard]] std::string msda_text(const study::MsdaAnswer& answer);

/// A note that names the device whose constants are used, if the device has none of its own.
[[nodiscard]] std::optional<std::string> borrowed_note(const study::MsdaAnswer& answer);

}  // namespace natten_sim::report
