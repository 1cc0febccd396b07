#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/random_bits.hpp>

#include "schedules/construct.hpp"

namespace natten_sim::schedules {

/// Swaps a chain with another, or moves it to another worker or place.
void move_chain(Assignment& assignment, RandomSequence& random);

/// Moves a Q tile of one of `chains` to another place in it, or turns its whole order.
void move_tile(Assignment& assignment, const std::vector<std::int32_t>& chains, RandomSequence& random);

}  // namespace natten_sim::schedules
