#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/mask.hpp>

namespace natten_sim::report {

/// Blocks, rows, pairs of tokens and times; `others` has the same for other sizes of blocks.
[[nodiscard]] Json mask_result(const study::MaskAnswer& answer);
[[nodiscard]] Json mask_schema();

/// A row for each size of blocks, the one that was asked for first.
[[nodiscard]] Rows mask_rows(const study::MaskAnswer& answer);

[[nodiscard]] std::string mask_report(const study::MaskAnswer& answer);

}  // namespace natten_sim::report
