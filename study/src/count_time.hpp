#pragma once

#include <optional>

#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// The setting of the question, with the backend of the kernel that it names; a backend named besides stays.
[[nodiscard]] Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog);

/// What a kernel visits that masks partial blocks alone, as FlexAttention does.
[[nodiscard]] KernelVisits visits_of_blocks(const TileCount& count);

/// One pass of a mask at the batch, heads, element type and extra keys of a resolved setting, whose device it
/// is for; the kernel is the caller's to name. `schedule`: none is that of TimeQuestion.
[[nodiscard]] TimeQuestion time_question(const Setting& setting, const NeighborhoodMask& mask,
                                         const TilePair& tiles, Walk pass,
                                         std::optional<KernelSchedule> schedule);

/// The time of one counted pass: of the kernel that the question names, else of the one that NATTEN runs.
/// None when neither a device nor a kernel is named. `question` is resolved.
[[nodiscard]] std::optional<TimeAnswer> time_of_count(const CountQuestion& question,
                                                      const TilingProblem& problem, const TileCount& count,
                                                      const std::optional<KernelPass>& pass,
                                                      const Context& context);

/// The whole model's speedup by the forward pass' time; none: the share or a time (null) is not known.
[[nodiscard]] std::optional<double> end_to_end_by_time(const PassTime* forward, const Setting& setting);

/// Where there are times, speedups are their ratios: dense attention and copies take what is predicted of
/// them instead of what the device's rates say, and speedups by tiles with such floors go. Times (null: none)
/// are of `timed_kernel`, or of NATTEN's.
void take_predicted(const PassTime* forward, const PassTime* backward,
                    const std::optional<KernelChoice>& timed_kernel, KernelAnswer& kernel);

/// Both passes' times, and what they change of `answer.kernel`.
void add_times(const CountQuestion& question, const TilingProblem& forward, const Context& context,
               CountAnswer& answer);

}  // namespace natten_sim::study
