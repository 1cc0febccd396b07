// Times of tasks of a schedule that ran.
#include <natten_sim/io/recorded_run.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::recorded_run {

void read(std::string_view input) { (void)parse_recorded_run(input, "input"); }

const Target kTarget("recorded_run", read);

}  // namespace natten_sim::fuzz::recorded_run
