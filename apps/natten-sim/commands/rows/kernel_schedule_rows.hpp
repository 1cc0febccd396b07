#pragma once

#include <natten_sim/study/kernel_schedule.hpp>

#include "commands/rows/schedule_rows.hpp"

namespace natten_sim::cli {

/// --kernel and what only it takes.
[[nodiscard]] Options<ScheduleFlags> measured_rows();

/// With --kernel, as `input` echoes them.
[[nodiscard]] Options<ScheduleFlags> kernel_input_rows();

/// --emit-header and --emit-binary.
[[nodiscard]] Options<ScheduleFlags> export_rows();

/// --walk and --heads-in-flight.
[[nodiscard]] Options<ScheduleFlags> walk_rows();

/// What a chain is: --gqa-chains and --ctas-per-chain.
[[nodiscard]] Options<ScheduleFlags> chain_rows();

/// How chains take turns: --release, --dkv-turns and --early-exit.
[[nodiscard]] Options<ScheduleFlags> turn_rows();

/// --dim and --dtype.
[[nodiscard]] Options<ScheduleFlags> memory_rows();

/// What the flags ask of a kernel. Requires `kernel`. @throws InvalidParameter.
[[nodiscard]] study::KernelScheduleQuestion kernel_schedule_question(const ScheduleFlags& flags);

/// `input`: the flags that a kernel has, with what `answer` filled in.
[[nodiscard]] Json kernel_schedule_input(const ScheduleFlags& flags,
                                         const study::KernelScheduleAnswer& answer);

}  // namespace natten_sim::cli
