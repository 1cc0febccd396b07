#pragma once

#include <string>

#include <natten_sim/study/block_mask.hpp>

namespace natten_sim::report {

/// A block mask as one JSON object, schema natten-sim.block-mask/1:
///
///     {"schema": .., "input": [256, 256], "dilation": [1, 1], "q_tile": [16, 8], "kv_tile": [16, 8],
///      "groups": 1, "q_tiles": [16, 32], "kv_tiles": [16, 32],
///      "partial": {"counts": [12, ..], "blocks": [0, 1, ..]}, "full": {"counts": [..], "blocks": [..]},
///      "axes": [[{"begin": [0, ..], "end": [80, ..]}], ..]}
///
/// `counts` has a number a Q block, `blocks` their KV blocks one after the other; `axes` has what the queries
/// of each residue class attend to. Block order and coordinates as in study::BlockTables.
[[nodiscard]] std::string block_mask_json(const study::BlockTables& mask);

}  // namespace natten_sim::report
