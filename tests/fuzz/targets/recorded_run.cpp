// Times of tasks of a schedule that ran.
#include <natten_sim/io/recorded_run.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) { (void)parse_recorded_run(input, "input"); }
