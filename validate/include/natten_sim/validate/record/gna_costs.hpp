#pragma once

#include <optional>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>
#include <natten_sim/models/tiles/item_time.hpp>
#include <natten_sim/validate/cases/gna.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// What launches of neighborhood attention cost, fitted to the recordings of the suite gna-costs that are
/// compiled in (data/recordings/*-gna-costs.json): points that no other suite has.

struct GnaTime {
  double ns = 0;
  bool fitted = false;  ///< the costs were fitted to this very point
};

/// A launch as the model of item times sees it, items in the kernel's order. Its DRAM bytes are those of
/// cold_reads or else of timed_reads or else of every operand once.
[[nodiscard]] ItemLaunch item_launch(const GnaCase& point, const Device& device);

/// Of points with this head dimension and dtype, on `device`, which made the recording. Empty with fewer than
/// seven.
[[nodiscard]] std::optional<ItemCosts> gna_costs(const Recording& recording, const Device& device,
                                                 std::int64_t head_dim, Dtype dtype);

/// Empty where no recording tells the device's costs of that kernel.
[[nodiscard]] std::optional<GnaTime> predicted_time(const GnaCase& point, const Device& device);

}  // namespace natten_sim::validate
