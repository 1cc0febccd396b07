// Orders of KV tiles.
#include <natten_sim/io/permutations.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::permutations {

void read(std::string_view input) { (void)parse_permutations(input, "input"); }

const Target kTarget("permutations", read);

}  // namespace natten_sim::fuzz::permutations
