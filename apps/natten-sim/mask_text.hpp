#pragma once

#include <string>

#include <natten_sim/sim/block_mask.hpp>

#include "command.hpp"

namespace natten_sim::cli {

/// A block mask and how its tiles came about.
struct NamedMask {
  std::string text;  ///< as given
  BlockMask mask;
  SequenceTiling tokens;   ///< meaningful with `of_tokens`
  bool of_tokens = false;  ///< sizes were given in tokens
};

/// --mask with the sizes that it needs: `full`, `causal`, `window:L,R`, `document:LEN,LEN,..` (with --q-tiles
/// and
/// --kv-tiles in tiles, else with --seqlen-q in tokens), `gna:i=30x48x80,w=18x24x24,..`, or a file.
/// @throws InvalidParameter, UnknownName, MalformedData.
[[nodiscard]] NamedMask read_mask(const Arguments& arguments);

}  // namespace natten_sim::cli
