#pragma once

#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Whether NATTEN 0.21 recognises the problem as fully block-sparse and then skips fine-grained masking on
/// all tiles; otherwise it masks every visited tile, even full ones. The predicate is checked axis by axis
/// and dilation group by dilation group, on group lengths L. It is never true with a causal axis:
///
///   L == w, or: s % tq == 0, w % tk == 0, (L % s == 0 or the last window begins at a multiple of tk), and
///   ((w/2 - s/2) % tk == 0 or (L % tk == 0, ceil(L/s) == 2, s + s/2 >= L - w)).
///
/// For even tile sizes, which all forward shapes of all backends have, it implies that no tile is partial;
/// with an odd Q tile it may not (length 16, window 8, stride 1, tiles 1 and 4). A problem can be fully
/// block-sparse although the predicate is false. It looks at Q and KV tile sizes only, not at KV tiling. It
/// is false for single-dimensional tiling of several axes or of a dilated one, which has no such path.
/// Source: NATTEN's public implementation, compared with measured kernels; see docs/tile-counts.md.
[[nodiscard]] bool natten_fast_path(const TilingProblem& problem);

}  // namespace natten_sim
