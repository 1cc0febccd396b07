#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/schedule_mask.hpp>

namespace natten_sim {

/// Reads the blocks of a mask:
///
/// * as text, one line per Q tile (parse_block_mask);
/// * as FlexAttention's BlockMask holds them, a JSON object: `kv_num_blocks` [batch][heads][Q blocks] and `kv_indices`
///   [batch][heads][Q blocks][..] list partial blocks, `full_kv_num_blocks` and `full_kv_indices` (both may be null)
///   list full ones; `BLOCK_SIZE` [Q, KV] and `seq_lengths` [Q, KV] may be there; `kv_blocks` is needed where neither
///   they nor the indices tell the number of KV blocks. Indices beyond a row's number are ignored.
/// * as block sparse rows, a JSON object: `indptr` [Q blocks + 1], `indices`, `shape` [Q blocks, KV blocks], and
///   perhaps `partial` [one of true and false for each index] and `BLOCK_SIZE`. Blocks are full unless `partial` says
///   otherwise;
/// * as a NumPy array (.npy) of blocks, [Q blocks, KV blocks], or one of these for each head, or for each batch and head:
///   of booleans, or of 0 (skipped), 1 (partial) and 2 (full).
///
/// O(size of the text + pairs of blocks). @throws MalformedData naming `where`.
[[nodiscard]] GivenMask parse_mask_file(std::string_view text, const std::string& where);

}  // namespace natten_sim
