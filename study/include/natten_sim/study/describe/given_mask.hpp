#pragma once

namespace natten_sim::study {

/// What `--mask` takes, wherever a GivenMask is read.
inline constexpr const char* kGivenMaskHelp =
    "full, causal, window:L,R, document:LEN,.., prefix:LEN, dilated:STEP, these joined by & (all) and | (any); "
    "varlen:RULE:LEN,..; or a file, - for standard input: a BlockMask or block sparse rows as JSON, an array of blocks "
    "as .npy, or text";

}  // namespace natten_sim::study
