#pragma once

#include <natten_sim/core/natten_call.hpp>

namespace natten_sim {

/// The rules that ship with the library: data/natten-calls.json with the tiles of `catalog`.
/// @throws MalformedData, UnknownName when the catalog lacks a backend.
[[nodiscard]] NattenRules natten_rules(const Catalog& catalog);

}  // namespace natten_sim
