#pragma once

#include <string>
#include <variant>

#include <natten_sim/core/schedule_mask.hpp>

namespace natten_sim {

/// A file that parse_block_mask reads; "-" is standard input.
struct MaskFile {
  std::string path;
};

/// A mask as text: `full`, `causal`, `window:LEFT,RIGHT`, `document:LEN,LEN,..`, `prefix:LEN`,
/// `dilated:STEP`, these joined by & (all of them) and | (any, weaker than &) as in `document:96,160&causal|prefix:32`, `varlen:LEN,..`,
/// `gna:i=30x48x80,w=18x24x24,s=..,dilation=..,c=0x0x1,q-tile=..,kv-tile=..` (i alone is needed), or the path
/// of a file that exists.
/// @throws InvalidParameter; UnknownName when it is none of them and no file has that name.
[[nodiscard]] std::variant<ScheduleMask, MaskFile> parse_schedule_mask(const std::string& text);

/// The text that parse_schedule_mask() reads as this mask, in its short keys and without what has a default.
/// Tiles themselves have their origin: a file, else `a block mask of 4x6 tiles`.
[[nodiscard]] std::string mask_text(const ScheduleMask& mask);

}  // namespace natten_sim
