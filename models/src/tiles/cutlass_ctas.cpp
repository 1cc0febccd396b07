#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>

namespace natten_sim {
namespace {

/// The first query for which `holds`, which is false and then true; the length if it never is.
template <typename Predicate>
std::int64_t first_query(std::int64_t length, const Predicate& holds) {
  std::int64_t low = 0, high = length;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The first query whose window begins at `begin` or later, which one does: a group's leader stands in its middle.
std::int64_t first_beginning(const AxisGroup& group, std::int64_t begin) {
  if (begin <= 0) return 0;
  const std::int64_t leader = begin + group.window / 2, behind = leader - group.stride / 2;
  const std::int64_t last = (group.length - 1) / group.stride;
  return std::min(behind <= 0 ? 0 : ceil_divide(behind, group.stride), last) * group.stride;
}

/// The first query that sees key `key` or a later one.
std::int64_t first_seeing(const AxisGroup& group, std::int64_t key) {
  if (group.causal)
    return first_query(group.length, [&](std::int64_t query) { return attended_range(group, query).end > key; });
  return first_beginning(group, key - group.window + 1);
}

/// Behind the last query that sees a key before `end`.
std::int64_t end_seeing(const AxisGroup& group, std::int64_t end) {
  if (group.causal)
    return first_query(group.length, [&](std::int64_t query) { return attended_range(group, query).begin >= end; });
  return end > group.length - group.window ? group.length : first_beginning(group, end);
}

/// Walked tiles along one axis of a group.
class WalkedTiles {
 public:
  WalkedTiles(const AxisGroup& group, const AxisTiles& tiles, Walk pass) : group_(group), tiles_(tiles), pass_(pass) {}

  [[nodiscard]] std::int64_t count() const { return ceil_divide(group_.length, tiles_.walked); }

  [[nodiscard]] double pairs(std::int64_t tile) const {
    const TokenRange range = streamed(tile);
    if (range.end <= range.begin) return 0;
    if (pass_ == Walk::kForward) return static_cast<double>(ceil_divide(range.end - range.begin, tiles_.streamed));
    return static_cast<double>((range.end - 1) / tiles_.streamed - range.begin / tiles_.streamed + 1);
  }
  [[nodiscard]] double tokens(std::int64_t tile) const {
    const TokenRange range = streamed(tile);
    return static_cast<double>(range.end - range.begin);
  }

  /// Those at the border begin with the first Q tile, all others with the first of a stride's.
  [[nodiscard]] double alike() const {
    if (pass_ == Walk::kForward) return 1;
    const std::int64_t last = std::min(tiles_.streamed, group_.length) - 1;
    const auto at_border = static_cast<double>(ceil_divide(attended_range(group_, last).end, tiles_.walked));
    const double inside = std::max(1.0, static_cast<double>(std::max(group_.stride, tiles_.streamed)) /
                                            static_cast<double>(tiles_.walked));
    const auto all = static_cast<double>(count());
    return (at_border * at_border + (all - at_border) * std::min(inside, all)) / all;
  }

 private:
  [[nodiscard]] TokenRange streamed(std::int64_t tile) const {
    const std::int64_t first = tile * tiles_.walked, end = std::min(first + tiles_.walked, group_.length);
    return streamed_tokens(group_, first, end, pass_);
  }

  const AxisGroup& group_;
  const AxisTiles& tiles_;
  Walk pass_;
};

/// Pairs of the longest of the first dozen tiles that a boundary between strides cuts; 0: none is cut. Their queries'
/// windows lie a stride apart.
double longest_cut(const AxisGroup& group, std::int64_t tile, const WalkedTiles& walked) {
  double longest = 0;
  if (group.stride <= tile) return longest;
  for (std::int64_t boundary = group.stride, left = kLateCtas; boundary < group.length && left > 0; boundary += group.stride, --left) {
    if (boundary % tile != 0) longest = std::max(longest, walked.pairs(boundary / tile));
  }
  return longest;
}

/// Share of the tokens of an axis' tiles that exist.
double filled_share(const AxisMask& axis, std::int64_t tile) {
  const std::int64_t of_group = ceil_divide(ceil_divide(axis.length, axis.dilation), tile) * tile;
  return static_cast<double>(axis.length) / static_cast<double>(axis.dilation * of_group);
}

/// CTAs through the last head: samples of the slowest axis, each the longest along the others, and what follows them.
std::array<LateCta, kLateCtas> late_ctas(const std::array<double, kLateCtas>& lengths, double count, double others_longest,
                                         double others_ctas) {
  const auto samples = std::count_if(lengths.begin(), lengths.end(), [](double length) { return length > 0; });
  std::array<LateCta, kLateCtas> late = {};
  double after = 0;  // of the slowest axis, in its mean tiles
  for (auto at = static_cast<std::size_t>(samples); at-- > 0;) {
    if (at + 1 < static_cast<std::size_t>(samples))
      after += (lengths[at] + lengths[at + 1]) / 2 * (count - 1) / static_cast<double>(samples - 1);
    const double own = others_ctas > 1 ? lengths[at] / 2 : 0;
    late[at] = {lengths[at] * others_longest, (after + own) * others_ctas};
  }
  return late;
}

Extents tiles_along(const CutlassLaunch& launch, const Extents& tile) {
  Extents tiles;
  for (std::size_t axis = 0; axis < launch.mask.rank(); ++axis)
    tiles.push_back(ceil_divide(ceil_divide(launch.mask[axis].length, launch.mask[axis].dilation), tile[axis]));
  return tiles;
}

double groups_of(const CutlassLaunch& launch) {
  return static_cast<double>(product(dilation_of(launch.mask), "dilation")) * static_cast<double>(launch.repeats);
}

}  // namespace

TokenRange streamed_tokens(const AxisGroup& group, std::int64_t first, std::int64_t end, Walk pass) {
  if (pass == Walk::kForward) return {attended_range(group, first).begin, attended_range(group, end - 1).end};
  const std::int64_t begin = first_seeing(group, first);
  return {begin, std::max(begin, end_seeing(group, end))};
}

CutlassAxis cutlass_axis(const AxisMask& axis, const AxisTiles& tiles, Walk pass) {
  const AxisGroup group = residue_class(axis, 0);
  const WalkedTiles walked(group, tiles, pass);
  CutlassAxis along{.count = walked.count(), .alike = walked.alike()};
  const auto samples = std::min(along.count, static_cast<std::int64_t>(kLateCtas));
  double sum = 0, tokens = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const std::int64_t tile = samples == 1 ? 0 : sample * (along.count - 1) / (samples - 1);
    const double pairs = walked.pairs(tile);
    along.pairs[static_cast<std::size_t>(sample)] = static_cast<std::int64_t>(pairs);
    sum += pairs;
    tokens += walked.tokens(tile);
  }
  along.filled = pass == Walk::kForward ? tokens / std::max(1.0, sum * static_cast<double>(tiles.streamed))
                                        : filled_share(axis, tiles.walked) * filled_share(axis, tiles.streamed);
  if (!(sum > 0)) {
    along.pairs = {1};
    along.filled = 1;
    return along;
  }
  along.mean = sum / static_cast<double>(samples);
  auto longest = static_cast<double>(*std::max_element(along.pairs.begin(), along.pairs.end()));
  if (pass == Walk::kForward && !group.causal) longest = std::max(longest, longest_cut(group, tiles.walked, walked));
  along.longest = std::max(1.0, longest / along.mean);
  return along;
}

Extents kv_splits(const CutlassLaunch& launch) {
  const std::size_t rank = launch.mask.rank();
  if (launch.deterministic) return Extents(rank, 1);
  Extents splits = tiles_along(launch, launch.tiles.kv_tile);
  constexpr double kMostCtas = 4096;
  const auto most = static_cast<std::int64_t>(std::max(1.0, std::floor(kMostCtas / groups_of(launch))));
  if (product(splits, "kv_splits") <= most) return splits;
  std::int64_t taken = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t here = axis == 0 ? most / static_cast<std::int64_t>(rank) : most / taken;
    splits[axis] = std::max<std::int64_t>(1, std::min(here, splits[axis]));
    taken *= splits[axis];
  }
  return splits;
}

double prepared_bytes(const CutlassLaunch& launch) {
  if (launch.pass == Walk::kForward) return 0;
  const auto q_tokens = static_cast<double>(product(launch.tiles.q_tile, "q_tile")),
             kv_tokens = static_cast<double>(product(launch.tiles.kv_tile, "kv_tile"));
  const auto head_dim = static_cast<double>(launch.head_dim);
  constexpr double kFloat = 4, kHalf = 2;
  const auto q_tiles = static_cast<double>(product(tiles_along(launch, launch.tiles.q_tile), "q_tiles"));
  double bytes = q_tiles * std::ceil(head_dim / kv_tokens) * q_tokens * kv_tokens * kFloat;
  if (head_dim > q_tokens) {  // gradients of KV tiles do not stay in registers
    const auto ctas = static_cast<double>(product(kv_splits(launch), "kv_splits"));
    bytes += 2 * ctas * kv_tokens * std::ceil(head_dim / q_tokens) * q_tokens * kFloat;
  }
  const double tokens = static_cast<double>(product(input_of(launch.mask), "tokens")) * static_cast<double>(launch.repeats);
  return groups_of(launch) * bytes + 2 * kHalf * tokens * head_dim;
}

CutlassLayout cutlass_layout(const CutlassLaunch& launch) {
  const bool forward = launch.pass == Walk::kForward;
  const Extents walked = tiles_along(launch, forward ? launch.tiles.q_tile : launch.tiles.kv_tile);
  const Extents most = forward ? walked : kv_splits(launch);
  CutlassLayout layout{.groups = groups_of(launch), .ctas = {}, .prepared_bytes = prepared_bytes(launch)};
  for (std::size_t axis = 0; axis < walked.rank(); ++axis)
    layout.ctas.push_back(static_cast<double>(std::min(walked[axis], most[axis])));
  return layout;
}

CutlassWork cutlass_work(const CutlassLaunch& launch) {
  const bool forward = launch.pass == Walk::kForward;
  const Extents& walked = forward ? launch.tiles.q_tile : launch.tiles.kv_tile;
  const Extents& streamed = forward ? launch.tiles.kv_tile : launch.tiles.q_tile;
  const CutlassLayout layout = cutlass_layout(launch);
  PerAxis<CutlassPart> parts;
  PerAxis<const CutlassPart*> axes;
  for (std::size_t axis = 0; axis < launch.mask.rank(); ++axis) {
    const CutlassAxis along = cutlass_axis(launch.mask[axis], {walked[axis], streamed[axis]}, launch.pass);
    parts.push_back(cutlass_part(along, layout.ctas[axis]));
  }
  for (const CutlassPart& part : parts) axes.push_back(&part);
  return cutlass_work(layout, axes);
}

CutlassPart cutlass_part(const CutlassAxis& axis, double ctas) {
  const double share = ctas / static_cast<double>(axis.count);  // CTAs of several tiles differ less
  const auto of_cta = [&](double length) { return length > 0 ? 1 + (length - 1) * share : 0; };
  CutlassPart part{.ctas = ctas,
                   .longest = of_cta(axis.longest),
                   .alike = std::max(1.0, axis.alike * share),
                   .filled = axis.filled};
  double squares = 0, samples = 0;
  for (std::size_t sample = 0; sample < kLateCtas; ++sample) {
    part.lengths[sample] = of_cta(static_cast<double>(axis.pairs[sample]) / axis.mean);
    squares += part.lengths[sample] * part.lengths[sample];
    samples += axis.pairs[sample] > 0;
  }
  part.squares = squares / samples;
  return part;
}

CutlassWork cutlass_work(const CutlassLayout& layout, const PerAxis<const CutlassPart*>& axes) {
  CutlassWork work;
  CtaSpread& spread = work.spread;
  double others_longest = 1, others_ctas = 1, filled = 1, squares = 1;
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) {
    const CutlassPart& part = *axes[axis];
    squares *= part.squares, filled *= part.filled, spread.alike *= part.alike;
    if (axis > 0) others_longest *= part.longest, others_ctas *= part.ctas;
  }
  const CutlassPart& slowest = *axes[0];
  spread.longest = slowest.longest * others_longest;
  spread.ctas = layout.groups * slowest.ctas * others_ctas;
  spread.variance = std::max(0.0, squares - 1);
  spread.late = late_ctas(slowest.lengths, slowest.ctas, others_longest, others_ctas);
  spread.prepared_bytes = layout.prepared_bytes;
  work.missing = std::max(0.0, 1 - filled);
  return work;
}

}  // namespace natten_sim
