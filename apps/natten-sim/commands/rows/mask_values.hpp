#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>

#include "commands/rows/schedule_values.hpp"

namespace natten_sim::cli {

/// A rule, or a file of blocks, which is read.
[[nodiscard]] GivenMask parse_given_mask(const std::string& name, const std::string& text);
[[nodiscard]] std::string given_mask_text(const GivenMask& mask);

template <>
struct OptionValue<GivenMask> : GrammarValue<GivenMask, parse_given_mask, given_mask_text> {};

}  // namespace natten_sim::cli
