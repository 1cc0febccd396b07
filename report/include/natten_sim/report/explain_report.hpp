#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/explain.hpp>

namespace natten_sim::report {

/// Views of what `explain` answers.

/// The `result` object.
[[nodiscard]] Json explain_result(const study::ExplainAnswer& answer);
[[nodiscard]] Json explain_schema();

/// A paragraph for each kernel of attention, and one sentence of what to do. `option_prefix` stands before the
/// options that it asks for.
///
///     cuDNN forward   2 launches   grid 132x1x1   1 CTA an SM   7.206 ms
///     attention over 131072 causal   1 head of head dim 128   batch 1   bf16
///     DRAM read     2.11 GiB
///       compulsory  96.00 MiB
[[nodiscard]] std::string explain_text(const study::ExplainAnswer& answer, const std::string& option_prefix);

/// A row for each kernel.
///
///     family,launches,seqlen,causal,measured_bytes,compulsory_bytes
///     fa2,2,65536,false,84036000,50331648
[[nodiscard]] Rows explain_rows(const study::ExplainAnswer& answer);

}  // namespace natten_sim::report
