#pragma once

#include <optional>
#include <string>

#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// What gradients cost that come out the same in every run.
struct DeterministicPrice {
  std::string backend;  ///< of NATTEN, with a deterministic backward pass
  TilePair tiles, backward_tiles;  ///< with which each pass is fastest, of those that NATTEN accepts there
  double total_ms = 0, low_ms = 0, high_ms = 0;  ///< of both passes with these tiles
};

/// The window and stride of an answer with both passes, by cutlass-fna with its fastest tiles. None: the backend of the
/// answer has a deterministic backward pass itself, or cutlass-fna refuses the call or has no times there (with dilation
/// its tiles are not compared).
/// Cost: a search over the tiles of each pass.
[[nodiscard]] std::optional<DeterministicPrice> deterministic_price(const CountAnswer& answer, const Context& context);

}  // namespace natten_sim::study
