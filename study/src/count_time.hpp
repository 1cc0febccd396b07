#pragma once

#include <optional>

#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// The setting of the question, with the backend of the kernel that it names; a backend named besides stays.
[[nodiscard]] Setting setting_of_kernel(const CountQuestion& question, const Catalog& catalog);

/// One pass of a mask at the batch, heads, element type and extra keys of a resolved setting, whose device it
/// is for; the kernel is the caller's to name. `schedule`: none is that of TimeQuestion.
[[nodiscard]] TimeQuestion time_question(const Setting& setting, const NeighborhoodMask& mask,
                                         const TilePair& tiles, Walk pass,
                                         std::optional<KernelSchedule> schedule);

/// The time of one counted pass: of the kernel that the question names, else of the one that NATTEN runs.
/// None when neither a device nor a kernel is named. `question` is resolved.
[[nodiscard]] std::optional<TimeAnswer> time_of_count(const CountQuestion& question,
                                                      const TilingProblem& problem,
                                                      const std::optional<KernelPass>& pass,
                                                      const Context& context);

/// Dense attention takes what is predicted of it, where it is, and not what the device's rate says: the time
/// that the predicted speedup is over. So do the copies that speedups count. Times (null: none) are of NATTEN's
/// kernel; `setting` is resolved.
void count_over_predicted(const PassTime* forward, const PassTime* backward, const Setting& setting,
                          KernelAnswer& kernel);

/// Both passes' times, and what they change of `answer.kernel` where NATTEN's own kernel is asked for.
void add_times(const CountQuestion& question, const TilingProblem& forward, const Context& context,
               CountAnswer& answer);

}  // namespace natten_sim::study
