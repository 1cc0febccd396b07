#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/natten_call.hpp>

namespace natten_sim::report {
namespace {

template <typename T, typename Format>
std::string python_tuple(const PerAxis<T>& values, Format format) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + format(value);
  return "(" + text + (values.rank() == 1 ? ",)" : ")");
}

std::string integers(const Extents& values) {
  return python_tuple(values, [](std::int64_t value) { return std::to_string(value); });
}

}  // namespace

std::string natten_call(const NeighborhoodMask& mask, const TileChoice& choice) {
  if (mask.rank() > 3) throw InvalidParameter("emit", "natten for 4 axes", "layouts of 1 to 3 axes");
  const std::string causal =
      python_tuple(causal_of(mask), [](bool value) { return std::string(value ? "True" : "False"); });
  const std::string backend = choice.backend.empty() ? "" : fmt::format(", backend=\"{}\"", choice.backend);
  return fmt::format(
      "natten.na{}d(query, key, value, kernel_size={}, stride={}, dilation={}, is_causal={}{}, "
      "q_tile_shape={}, kv_tile_shape={})",
      mask.rank(), integers(window_of(mask)), integers(stride_of(mask)), integers(dilation_of(mask)), causal,
      backend, integers(choice.tiles.q_tile), integers(choice.tiles.kv_tile));
}

}  // namespace natten_sim::report
