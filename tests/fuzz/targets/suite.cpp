// Suites of validate.
#include <natten_sim/validate/compare/suite.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  (void)natten_sim::validate::parse_suite(input, "input");
}
