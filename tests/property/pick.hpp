#pragma once

#include <cstdint>

#include <rapidcheck.h>

namespace natten_sim::test {

/// lo .. hi, all equally likely from the first case of a property on.
inline std::int64_t pick(std::int64_t lo, std::int64_t hi) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(lo, hi + 1));
}

}  // namespace natten_sim::test
