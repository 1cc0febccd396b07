#pragma once

#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/advise.hpp>

namespace natten_sim::report {

/// One object a device, with its choices: configuration, times, speedups, the call and its check.
[[nodiscard]] Json advise_result(const study::AdviseAnswer& answer, const study::Context& context);
[[nodiscard]] Json advise_schema();

/// One row a choice.
[[nodiscard]] Rows advise_rows(const study::AdviseAnswer& answer, const study::Context& context);

/// One screen:
///
///     h200: hopper-fmha takes 81.4 ms
///                       window   stride  sparsity     forward  speedup  end to end  backward
///     fastest         16x24x16   1x8x16     89.1%  11.5 ms +-10%    7.10x       2.02x   58.2 ms
[[nodiscard]] std::string advise_text(const study::AdviseAnswer& answer, const study::Context& context);

}  // namespace natten_sim::report
