#pragma once

#include <string>

#include <natten_sim/study/estimate.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {

/// The option that asks what an answer takes, of subcommands that can tell.
[[nodiscard]] Options<OutputFlags> estimate_rows();

/// @throws InvalidParameter naming the option that makes a question need more memory than --max-memory leaves, or
/// than the machine has, or more steps than the fastest loop makes in --max-time
void require_room(const OutputFlags& flags, const study::Estimate& estimate);

/// The estimate in place of the answer. `input`: the options as they were given.
void put_estimate(const OutputFlags& flags, Reply& reply, const std::string& subcommand, Json input,
                  const std::optional<study::Estimate>& estimate);

/// Both, before a question is answered: whether its estimate was asked for, and is put in place of the answer.
[[nodiscard]] bool answered_by_estimate(const OutputFlags& flags, Reply& reply, const std::string& subcommand,
                                        Json input, const std::optional<study::Estimate>& estimate);

}  // namespace natten_sim::cli
