#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/record/ncu_csv.hpp>

namespace natten_sim::validate {

/// Whether the bytes begin as Nsight Compute's own reports (.ncu-rep) do.
[[nodiscard]] bool is_ncu_report(std::string_view bytes);

/// Reads a report of Nsight Compute 2020 and later: kernel launches with names, grids, counters and launch
/// attributes. Results of ranges and graphs, which have no grid, are left out; values are in the counters'
/// own units there. Memory: what the launches take, at most kMaxLaunches; a result without a byte is
/// refused. @throws MalformedData naming the byte at which it went wrong.
[[nodiscard]] std::vector<ProfiledLaunch> parse_ncu_report(std::string_view bytes, const std::string& where);

/// Either kind of profile: a report, or what `ncu --csv` wrote.
[[nodiscard]] std::vector<ProfiledLaunch> parse_ncu_profile(std::string_view bytes, const std::string& where,
                                                            std::optional<DecimalMark> decimal = {});

}  // namespace natten_sim::validate
