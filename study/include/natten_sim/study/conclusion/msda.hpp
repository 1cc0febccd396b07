#pragma once

#include <optional>

#include <natten_sim/study/msda.hpp>

namespace natten_sim::study {

/// The change of an MSDA pass that helps most: one of the three has a value.
struct MsdaChange {
  std::optional<MsdaTiling> tiling;
  std::optional<Dtype> accumulator;
  std::optional<QueryOrder> order;
  double time_ns = 0;  ///< with it
  double gain = 1;
};

struct MsdaConclusion {
  std::optional<MsdaChange> change;  ///< none: nothing that was asked gains 2%
  int asked = 0;
};

/// The answer's first pass with the other tiling and accumulator, from the traffic that is counted already,
/// and with the orders that the answer has. Cheap: nothing is simulated.
[[nodiscard]] MsdaConclusion conclude(const MsdaAnswer& answer, const Context& context);

}  // namespace natten_sim::study
