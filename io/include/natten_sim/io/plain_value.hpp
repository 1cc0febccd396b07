#pragma once

#include <cstdint>
#include <span>

namespace natten_sim {

/// A value as lines of a batch mostly have it: integers or booleans, one or an array of some. Types read it
/// without a tree of values and without texts. What they refuse they get again as words, and say what is
/// wrong.
struct PlainValue {
  bool is_boolean = false;  ///< one of the values at least is a boolean, as 0 or 1
  std::span<const std::int64_t> values;
};

}  // namespace natten_sim
