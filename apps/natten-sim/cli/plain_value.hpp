#pragma once

#include <cstdint>
#include <span>

namespace natten_sim::cli {

/// A JSON value as lines of a batch mostly have them: one integer or boolean, or an array of some. Types read
/// it without a tree of values; what they refuse they get as Json again, and say what is wrong.
struct PlainValue {
  bool is_array = false;
  bool is_boolean = false;  ///< the values are 0 and 1
  std::span<const std::int64_t> values;
};

}  // namespace natten_sim::cli
