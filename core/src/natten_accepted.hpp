#pragma once

#include <functional>

#include <natten_sim/core/natten_call.hpp>

namespace natten_sim {

/// What no backend runs is told with what any of them runs, not with the rule of the last one: head dims or types of
/// calls that are otherwise like this one. O(head dims).
void accept_what_any_runs(const NattenCall& call, const std::function<bool(const NattenCall&)>& runs, NattenRefusal& refusal);

}  // namespace natten_sim
