#include <algorithm>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_split.hpp>

namespace natten_sim {
namespace {

/// What the queries of `own` in one residue class attend to, as tokens of the axis; nothing: there are none.
TokenRange attended_of_class(const AxisMask& axis, const TokenRange& own, std::int64_t residue) {
  const auto first_at_least = [&](std::int64_t token) {  // index within the class
    return token <= residue ? 0 : (token - residue + axis.dilation - 1) / axis.dilation;
  };
  const std::int64_t first = first_at_least(own.begin), past = first_at_least(own.end);
  if (first == past) return {own.begin, own.begin};
  const AxisGroup group = residue_class(axis, residue);
  const std::int64_t begin = attended_range(group, first).begin;
  const std::int64_t last = attended_range(group, past - 1).end - 1;
  return {residue + begin * axis.dilation, residue + last * axis.dilation + 1};
}

}  // namespace

std::vector<AxisSlab> split_axis(const AxisMask& axis, std::int64_t parts) {
  if (parts < 1 || parts > axis.length)
    throw InvalidParameter("gpus", std::to_string(parts), "1.." + std::to_string(axis.length));
  const std::int64_t unit = axis.stride * axis.dilation;
  std::vector<AxisSlab> slabs;
  std::int64_t begin = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    AxisSlab slab;
    slab.own = {begin, begin + axis.length / parts + (part < axis.length % parts ? 1 : 0)};
    begin = slab.own.end;
    slab.attended = slab.own;
    for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
      const TokenRange keys = attended_of_class(axis, slab.own, residue);
      slab.attended.begin = std::min(slab.attended.begin, keys.begin);
      slab.attended.end = std::max(slab.attended.end, keys.end);
    }
    slab.computed = {slab.attended.begin / unit * unit, slab.attended.end};
    // A causal window ends with its whole group, of which the query sees the part up to itself.
    if (axis.causal) slab.computed.end = std::min(axis.length, (slab.attended.end + unit - 1) / unit * unit);
    // A residue class needs a window's tokens even if none of its queries is here.
    const std::int64_t least = axis.window * axis.dilation;
    if (slab.computed.end - slab.computed.begin < least) {
      slab.computed.end = std::min(axis.length, slab.computed.begin + least);
      slab.computed.begin = std::min(slab.computed.begin, (axis.length - least) / unit * unit);
    }
    slabs.push_back(slab);
  }
  return slabs;
}

}  // namespace natten_sim
