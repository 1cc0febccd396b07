#pragma once

#include <string>
#include <variant>

#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/time.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// What would calibrate `kernel` for the question.
[[nodiscard]] std::string measurement(const TimeQuestion& question, const std::string& kernel);

/// The question's cell of `kernel`, with the kernel's own tiles.
[[nodiscard]] CostCell cell_of(const TimeQuestion& question, const std::string& kernel, const Device& device);

/// The costs of the question's kernel, or what is missing. The question is resolved.
[[nodiscard]] std::variant<KernelCosts, MissingTime> find_costs(const TimeQuestion& question,
                                                                const TimedKernel& kernel, const Device& device,
                                                                const Catalog& catalog);

}  // namespace natten_sim::study
