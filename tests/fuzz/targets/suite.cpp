// Suites of validate.
#include <natten_sim/validate/compare/suite.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::suite {

void read(std::string_view input) {
  (void)natten_sim::validate::parse_suite(input, "input");
}

const Target kTarget("suite", read);

}  // namespace natten_sim::fuzz::suite
