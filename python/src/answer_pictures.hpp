#pragma once

#include <string>

#include <natten_sim/report/json.hpp>

namespace natten_sim::python {

/// Pictures of answers that the program only prints as tables, from their `result`.

/// A bar a candidate of search(): predicted milliseconds, or the speedup by multiplied pairs where there are
/// none. @throws InvalidParameter without candidates.
[[nodiscard]] std::string candidates_svg(const report::Json& result);
/// A bar a choice of advise(), in milliseconds. @throws InvalidParameter without choices.
[[nodiscard]] std::string choices_svg(const report::Json& result);
/// What takes the milliseconds of a step of plan(), dense and sparse.
[[nodiscard]] std::string plan_svg(const report::Json& result);
/// A bar for each size of blocks of mask(): milliseconds, or the share of blocks that is visited.
[[nodiscard]] std::string blocks_svg(const report::Json& result);
/// What takes the milliseconds of time(). @throws InvalidParameter where the time is not known.
[[nodiscard]] std::string time_parts_svg(const report::Json& result);
/// Predicted against measured milliseconds of the runs of calibrate(), a colour a kernel.
[[nodiscard]] std::string runs_svg(const report::Json& result);
/// Predicted against measured values of one counter of compare(), a colour a model.
[[nodiscard]] std::string counter_svg(const report::Json& result, const std::string& counter);

}  // namespace natten_sim::python
