// Orders of KV tiles.
#include <natten_sim/io/permutations.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) { (void)parse_permutations(input, "input"); }
