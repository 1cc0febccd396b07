// Tables of a plan: bands, boxes, lists of tiles, parts of items; and what a launch's tensors add to them.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include "attention_forward/prepared.hpp"
#include "attention_forward/work.cuh"
#include "gpu/launch_stream.cuh"

namespace natten_sim::kernels::attention_forward {

void Plan::Prepared::prepare_band() {
  const KernelShape& shape = instance->shape;
  layouts.assign(2, {});
  layouts[0].length[0] = problem.q_tokens;
  layouts[1].length[0] = problem.kv_tokens;
  layouts[0].step[0] = layouts[1].step[0] = 1;
  q_box = {shape.q_tile, 1, 1};
  kv_box = {shape.kv_tile, 1, 1};
  o_box = {64, 1, 1};
  arguments.q_at = arguments.kv_at = arguments.o_at = {0, 1, 0, 1};
  const Band& band = std::get<Band>(problem.mask);
  constexpr std::int64_t kNoLimit = 1 << 29;
  arguments.left = static_cast<int>(std::min(band.left.value_or(kNoLimit), kNoLimit));
  arguments.right = static_cast<int>(std::min(band.right.value_or(kNoLimit), kNoLimit));
  const std::int64_t rows = shape.q_tile;
  arguments.q_tiles = static_cast<int>((problem.q_tokens + rows - 1) / rows);
  arguments.q_tokens = static_cast<int>(problem.q_tokens);
  arguments.kv_tokens = static_cast<int>(problem.kv_tokens);
  for (int tile = 0; tile < arguments.q_tiles; ++tile) {
    const BandTiles tiles = band_tiles(arguments, tile, shape.q_tile, shape.kv_tile);
    tiles_of_rows.push_back(tiles.end - tiles.begin);
  }
}

/// Keys of every axis and residue, from the rule itself or from the list that replaces it.
std::vector<int2> Plan::Prepared::axis_ranges(std::array<std::vector<int>, 3>& first_range) const {
  const Neighborhood& neighborhood = std::get<Neighborhood>(problem.mask);
  const NeighborhoodMask& mask = neighborhood.mask;
  const int rank = static_cast<int>(mask.rank());
  std::vector<int2> ranges;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    ranges.push_back({static_cast<int>(begin), static_cast<int>(end)});
  };
  for (int axis = 0; axis < 3; ++axis) {
    const AxisMask rule = axis < rank ? mask[rank - 1 - axis] : AxisMask{1, 1, 1, 1, false};
    for (std::int64_t residue = 0; residue < rule.dilation; ++residue) {
      first_range[axis].push_back(static_cast<int>(ranges.size()));
      if (axis == 0 && !neighborhood.intervals.empty()) {
        for (const TokenRange& keys : neighborhood.intervals) add(keys.begin, keys.end);
        continue;
      }
      const AxisGroup group = residue_class(rule, residue);
      for (std::int64_t query = 0; query < group.length; ++query) {
        const TokenRange range = attended_range(group, query);
        add(range.begin, std::min(range.end, group.length));
      }
    }
  }
  return ranges;
}

void Plan::Prepared::prepare_groups() {
  const Neighborhood& neighborhood = std::get<Neighborhood>(problem.mask);
  const NeighborhoodMask& mask = neighborhood.mask;
  const int rank = static_cast<int>(mask.rank());
  std::array<AxisMask, 3> axes{};  // innermost first
  for (int axis = 0; axis < 3; ++axis)
    axes[axis] = axis < rank ? mask[rank - 1 - axis] : AxisMask{1, 1, 1, 1, false};
  const std::array<std::int64_t, 3> step = {1, axes[0].length, axes[0].length * axes[1].length};
  for (int axis = 0; axis < 3; ++axis) arguments.row_stride[axis] = step[axis] * axes[axis].dilation;
  arguments.row_stride[3] = step[2] * axes[2].length;
  std::array<std::vector<int>, 3> first_range;
  arguments.ranges = keep(axis_ranges(first_range));

  for (std::int64_t z = 0; z < axes[2].dilation; ++z) {
    for (std::int64_t y = 0; y < axes[1].dilation; ++y) {
      for (std::int64_t x = 0; x < axes[0].dilation; ++x) {
        const std::array<std::int64_t, 3> residue = {x, y, z};
        Layout layout;
        layout.rank = rank;
        if (rank == 4) layout.fourth = mask[0].length;
        layout.fourth_step = arguments.row_stride[3];
        DilationGroup group;
        for (int axis = 0; axis < 3; ++axis) {
          layout.length[axis] = residue_class(axes[axis], residue[axis]).length;
          layout.step[axis] = step[axis] * axes[axis].dilation;
          layout.first += step[axis] * residue[axis];
          group.length[axis] = static_cast<int>(layout.length[axis]);
          group.first_range[axis] = first_range[axis][static_cast<std::size_t>(residue[axis])];
        }
        group.first_row = layout.first;
        layouts.push_back(layout);
        groups.push_back(group);
      }
    }
  }
  const auto placement = [&](const TensorStrides& strides, std::int64_t heads) {
    return head_dimensions(problem, {nullptr, strides, heads}, layouts.back()).placement;
  };
  arguments.q_at = placement(problem.q, problem.heads);
  arguments.kv_at = placement(problem.k, problem.heads_kv);
  arguments.o_at = placement(problem.o, problem.heads);
  if (!(placement(problem.v, problem.heads_kv) == arguments.kv_at)) {
    throw InvalidParameter("v", std::to_string(problem.v.head), "heads and batches laid out as K's");
  }
}

void Plan::Prepared::prepare_lists(const Neighborhood& neighborhood) {
  const BoxLists lists = box_lists(neighborhood, problem.extra_tokens);
  tiles_of_rows.clear();
  for (const QTileRow& row : lists.rows) tiles_of_rows.push_back(row.count);
  arguments.rows = keep(lists.rows);
  arguments.entries = keep(lists.entries);
  arguments.q_tiles = static_cast<int>(lists.rows.size());
}

void Plan::Prepared::prepare_box() {
  const Neighborhood& neighborhood = std::get<Neighborhood>(problem.mask);
  const KernelShape& shape = instance->shape;
  const std::array<int, 3> q_tile = innermost_first(neighborhood.q_tile);
  const std::array<int, 3> kv_tile = innermost_first(neighborhood.kv_tile);
  const auto require_tokens = [](const char* name, const std::array<int, 3>& tile, int tokens) {
    if (tile[0] * tile[1] * tile[2] != tokens) {
      throw InvalidParameter(name, std::to_string(tile[0] * tile[1] * tile[2]) + " tokens",
                             std::to_string(tokens) + " tokens");
    }
  };
  require_tokens("q_tile", q_tile, shape.q_tile);
  require_tokens("kv_tile", kv_tile, shape.kv_tile);
  const WarpgroupBox output_box = warpgroup_box(q_tile, shape.q_tile / 64);
  for (int axis = 0; axis < 3; ++axis) {
    arguments.q_tile[axis] = q_tile[axis];
    arguments.kv_tile[axis] = kv_tile[axis];
    arguments.warpgroup_step[axis] = output_box.step[axis];
  }
  if (shape.mask_products != 0) {
    const MaskProducts products = mask_products(neighborhood);
    if (products.count == 0 || products.count > shape.mask_products) {
      throw InvalidParameter("mask_products", std::to_string(shape.mask_products),
                             products.count == 0
                                 ? "0 for such axes and KV tiles"
                                 : std::to_string(products.count) + " or more for such KV tiles");
    }
    std::ranges::copy(products.pairs, arguments.coordinate_pairs);
  }
  const std::vector<std::uint32_t> prefix = prefix_table(kv_tile, arguments.first_prefix);
  arguments.prefix = keep(prefix);
  arguments.prefix_words = static_cast<int>(prefix.size());
  q_box = q_tile;
  kv_box = kv_tile;
  o_box = output_box.box;
  arguments.extra_tokens = static_cast<int>(problem.extra_tokens);
  prepare_groups();
  prepare_lists(neighborhood);
  std::get<Neighborhood>(problem.mask).visits = {};
}

std::vector<std::int32_t> Plan::Prepared::tiles_of_items() const {
  std::vector<std::int32_t> tiles(static_cast<std::size_t>(arguments.items));
  for (int item = 0; item < arguments.items; ++item) {
    tiles[static_cast<std::size_t>(item)] =
        tiles_of_rows[static_cast<std::size_t>(item_place(arguments, item).tile)];
  }
  return tiles;
}

/// Slots of the workspace and counters for the parts of items that are divided.
void Plan::Prepared::prepare_parts(const SplitTail& tail) {
  std::map<int, std::pair<int, int>> first_of_item;  // slot, counter
  int slots = 0;
  std::vector<ItemPart> parts;
  for (const SplitPart& part : tail.parts) {
    ItemPart made{part.item, part.begin, part.end, part.parts};
    if (part.parts > 1) {
      const auto [found, fresh] =
          first_of_item.try_emplace(part.item, slots, static_cast<int>(first_of_item.size()));
      if (fresh) slots += part.parts;
      made.first_slot = found->second.first;
      made.slot = made.first_slot + part.number;
      made.counter = found->second.second;
    }
    parts.push_back(made);
  }
  const auto warpgroups = static_cast<std::size_t>(instance->shape.q_tile / 64);
  const std::size_t slot_floats = std::size_t{128} * static_cast<std::size_t>(instance->shape.head_dim / 2 + 4);
  workspace.counters += first_of_item.size() * warpgroups * sizeof(unsigned);
  workspace.bytes = static_cast<std::size_t>(slots) * warpgroups * slot_floats * sizeof(float);
  has_parts = true;
  arguments.parts = keep(parts);
  arguments.whole_items = tail.whole_items;
  arguments.items = tail.whole_items + static_cast<int>(parts.size());
}

/// From the sizes of its pieces to their places.
void Plan::Prepared::lay_out_workspace() {
  const auto aligned = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
  constexpr std::size_t kTicketBytes = 2 * sizeof(unsigned);
  workspace.counters += kTicketBytes;
  workspace.parts_at = aligned(workspace.counters);
  workspace.groups_at = workspace.parts_at + aligned(workspace.bytes);
  workspace.bytes = workspace.groups_at + (groups.size() > 1 ? groups.size() * sizeof(DilationGroup) : 0);
}

void Plan::Prepared::bind(Arguments& to, const Tensors& tensors, void* memory) const {
  auto* const base = static_cast<char*>(memory);
  const int columns = instance->columns;
  const Tensor q{tensors.q, problem.q, problem.heads}, k{tensors.k, problem.k, problem.heads_kv},
      v{tensors.v, problem.v, problem.heads_kv}, o{tensors.o, problem.o, problem.heads};
  const auto set_maps = [&](DilationGroup& group, const Layout& queries, const Layout& keys) {
    group.q = encode(problem, q, queries, q_box, columns);
    group.k = encode(problem, k, keys, kv_box, columns);
    group.v = encode(problem, v, keys, kv_box, columns);
    group.o = encode(problem, o, queries, o_box, columns);
  };
  to.lse = tensors.lse;
  if (groups.empty()) {
    set_maps(to.only, layouts[0], layouts[1]);
  } else {
    std::vector<DilationGroup> bound = groups;
    for (std::size_t i = 0; i < bound.size(); ++i) set_maps(bound[i], layouts[i], layouts[i]);
    to.only = bound.front();
    if (bound.size() > 1) {
      NATTEN_SIM_CUDA_CHECK(cudaMemcpyAsync(base + workspace.groups_at, bound.data(),
                                            bound.size() * sizeof(DilationGroup), cudaMemcpyHostToDevice,
                                            launch_stream()));
      to.groups = reinterpret_cast<const DilationGroup*>(base + workspace.groups_at);
    }
  }
  if (problem.extra_tokens > 0) {
    Layout layout;
    layout.length[0] = problem.extra_tokens;
    layout.step[0] = 1;
    const std::array<int, 3> box = {instance->shape.kv_tile, 1, 1};
    to.extra_k = encode(problem, {tensors.extra_k, problem.extra_k, problem.heads_kv}, layout, box, columns);
    to.extra_v = encode(problem, {tensors.extra_v, problem.extra_v, problem.heads_kv}, layout, box, columns);
  }
  auto* const counters = reinterpret_cast<unsigned*>(base);
  to.ticket = has_ticket ? counters : nullptr;
  if (!has_parts) return;
  to.arrivals = counters + 2;
  to.workspace = reinterpret_cast<float*>(base + workspace.parts_at);
}

}  // namespace natten_sim::kernels::attention_forward
