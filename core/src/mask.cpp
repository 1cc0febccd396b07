#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/mask.hpp>

namespace natten_sim {
namespace {

void require_axis_value(const char* parameter, std::int64_t value, std::int64_t hi, const char* why,
                        std::size_t axis) {
  if (value >= 1 && value <= hi) return;
  throw InvalidParameter(parameter, std::to_string(value) + " on axis " + std::to_string(axis),
                         "1.." + std::to_string(hi) + why, std::to_string(value < 1 ? 1 : hi));
}

template <typename T>
PerAxis<T> filled(const char* parameter, const PerAxis<T>& values, std::size_t rank, const T& fallback) {
  if (values.empty()) return PerAxis<T>(rank, fallback);
  if (values.rank() == 1) return PerAxis<T>(rank, values[0]);
  if (values.rank() != rank) {
    throw InvalidParameter(
        parameter, std::to_string(values.rank()) + (values.rank() == 1 ? " value" : " values"),
        std::to_string(rank) + (rank == 1 ? " value" : " values, one for each axis of the input"));
  }
  return values;
}

template <typename T, typename Member>
PerAxis<T> collect(const NeighborhoodMask& mask, Member member) {
  PerAxis<T> values;
  for (const AxisMask& axis : mask) values.push_back(axis.*member);
  return values;
}

}  // namespace

void require_valid(const AxisMask& axis, std::size_t axis_index) {
  const bool valid = axis.stride >= 1 && axis.stride <= axis.window && axis.dilation >= 1 &&
                     axis.length >= 1 && axis.length <= kMaxAxisLength &&
                     axis.window <= (axis.dilation == 1 ? axis.length : axis.length / axis.dilation) &&
                     (!axis.cyclic || (!axis.causal && axis.length % axis.dilation == 0));
  if (valid) return;
  require_axis_value("input", axis.length, kMaxAxisLength, " tokens", axis_index);
  require_axis_value("dilation", axis.dilation, axis.length, " (the axis length)", axis_index);
  require_axis_value("window", axis.window, axis.length / axis.dilation,
                     axis.dilation == 1 ? " (the axis length)" : " (axis length / dilation)", axis_index);
  require_axis_value("stride", axis.stride, axis.window, " (the window)", axis_index);
  const std::string on_axis = " on axis " + std::to_string(axis_index);
  if (axis.causal)
    throw InvalidParameter("cyclic", "true" + on_axis, "false on a causal axis: a cycle has no last token",
                           "false");
  throw InvalidParameter("dilation", std::to_string(axis.dilation) + on_axis,
                         "a divisor of the length of a cyclic axis, " + std::to_string(axis.length), "1");
}

void require_valid(const NeighborhoodMask& mask) {
  if (mask.empty()) throw InvalidParameter("input", "no axes", "1 to 4 axes");
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) require_valid(mask[axis], axis);
}

bool has_cycle(const NeighborhoodMask& mask) noexcept {
  for (const AxisMask& axis : mask) {
    if (axis.cyclic) return true;
  }
  return false;
}

bool has_causal_axis(const NeighborhoodMask& mask) noexcept {
  for (const AxisMask& axis : mask) {
    if (axis.causal) return true;
  }
  return false;
}

void require_no_cycle(const NeighborhoodMask& mask, const char* accepted) {
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    if (mask[axis].cyclic)
      throw InvalidParameter("cyclic", "true on axis " + std::to_string(axis), accepted, "false");
  }
}

AxisPadding cycle_padding(const AxisMask& axis) noexcept {
  const AxisGroup group = residue_class(axis, 0);
  if (!group.cyclic) return {};
  const std::int64_t stride = group.stride;
  const TokenRange first = attended_range(group, 0), last = attended_range(group, group.length - 1);
  const std::int64_t before = (-first.begin + stride - 1) / stride * stride;
  const std::int64_t after = last.end > group.length ? last.end - group.length : 0;
  return {before * axis.dilation, after * axis.dilation};
}

NeighborhoodMask make_mask(const Extents& input, const Extents& window, const Extents& stride,
                           const Extents& dilation, const PerAxis<bool>& causal,
                           const PerAxis<bool>& cyclic) {
  const std::size_t rank = input.rank();
  if (window.empty()) throw InvalidParameter("window", "none", "one value for each axis of the input");
  const Extents windows = filled<std::int64_t>("window", window, rank, 1);
  const Extents strides = filled<std::int64_t>("stride", stride, rank, 1);
  const Extents dilations = filled<std::int64_t>("dilation", dilation, rank, 1);
  const PerAxis<bool> causals = filled<bool>("causal", causal, rank, false);
  const PerAxis<bool> cycles = filled<bool>("cyclic", cyclic, rank, false);
  NeighborhoodMask mask;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    mask.push_back({input[axis], windows[axis], strides[axis], dilations[axis], causals[axis], cycles[axis]});
  }
  require_valid(mask);
  return mask;
}

Extents input_of(const NeighborhoodMask& mask) { return collect<std::int64_t>(mask, &AxisMask::length); }
Extents window_of(const NeighborhoodMask& mask) { return collect<std::int64_t>(mask, &AxisMask::window); }
Extents stride_of(const NeighborhoodMask& mask) { return collect<std::int64_t>(mask, &AxisMask::stride); }
Extents dilation_of(const NeighborhoodMask& mask) { return collect<std::int64_t>(mask, &AxisMask::dilation); }
PerAxis<bool> causal_of(const NeighborhoodMask& mask) { return collect<bool>(mask, &AxisMask::causal); }
PerAxis<bool> cyclic_of(const NeighborhoodMask& mask) { return collect<bool>(mask, &AxisMask::cyclic); }

}  // namespace natten_sim
