#pragma once

#include <optional>

#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// The setting of the question, with the backend of the kernel that it names; a backend named besides stays.
[[nodiscard]] Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog);

/// The time of one counted pass: of the kernel that the question names, else of the one that NATTEN runs.
/// None when neither a device nor a kernel is named. `question` is resolved.
[[nodiscard]] std::optional<TimeAnswer> time_of_count(const CountQuestion& question,
                                                      const TilingProblem& problem,
                                                      const std::optional<KernelPass>& pass,
                                                      const Context& context);

}  // namespace natten_sim::study
