#pragma once

#include <optional>
#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::report {

/// `time_ms` and `speedup_time`, both null without a prediction, and `time`: what it consists of and rests
/// on, or `time_missing`: why there is none. Nothing when no time was asked for.
void add_time_fields(const std::optional<study::TimeAnswer>& answer, Json& fields);
/// JSON Schema of an object with these fields.
[[nodiscard]] Json time_schema();

///     time: 7.53 ms (6.85 .. 8.21), copies 1.42 ms of it; 11.0x faster than hopper-fmha; tiles take most
/// `unknown_copies`: what is said where their rate is not known to the kernel.
[[nodiscard]] std::string time_text(const std::optional<study::TimeAnswer>& answer,
                                    const std::string& unknown_copies = ", copies not known");

/// What a speedup is over: `cudnn`, and whether it does less than was asked for, or has the mask itself.
[[nodiscard]] std::string dense_text(const study::PassTime& time);

/// `7.53 ms`, `63 us`.
[[nodiscard]] std::string duration_text(double ms);

}  // namespace natten_sim::report
