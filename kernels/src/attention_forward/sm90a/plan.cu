// Tensor maps, tables and grid of a launch.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include <natten_sim/kernels/attention_forward/split_tail.hpp>

#include "attention_forward/best_shape.hpp"
#include "attention_forward/box_tables.hpp"
#include "attention_forward/instances.hpp"
#include "attention_forward/tensor_map.cuh"
#include "attention_forward/work.cuh"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_forward {
namespace {

template <typename T>
DeviceBuffer upload(const std::vector<T>& values) {
  DeviceBuffer buffer(std::max<std::size_t>(values.size(), 1) * sizeof(T));
  if (!values.empty()) buffer.copy_from_host(values.data(), values.size() * sizeof(T));
  return buffer;
}

const Instance& find_instance(const KernelShape& shape) {
  for (const auto& table :
       {sequences_head_dim_64(), sequences_head_dim_96(), sequences_head_dim_128(), sequences_head_dim_160(),
        sequences_head_dim_192(), sequences_head_dim_256(), neighborhoods(), ladder_steps()}) {
    for (const Instance& instance : table) {
      if (instance.shape == shape) return instance;
    }
  }
  throw InvalidParameter("kernel",
                         std::to_string(shape.q_tile) + "x" + std::to_string(shape.kv_tile) + ", head dim " +
                             std::to_string(shape.head_dim),
                         "one of built_kernels()");
}

}  // namespace

struct Plan::Prepared {
  Arguments arguments;
  const Instance* instance = nullptr;
  int ctas = 0;
  std::vector<DeviceBuffer> tables;
  std::vector<std::int32_t> tiles_of_rows;  // KV tiles of each Q tile of a head

  template <typename T>
  const T* keep(const std::vector<T>& values) {
    tables.push_back(upload(values));
    return static_cast<const T*>(tables.back().data());
  }

  void prepare_band(const Problem& problem, const Tensors& tensors);
  void prepare_box(const Problem& problem, const Tensors& tensors);
  void prepare_groups(const Problem& problem, const Tensors& tensors, const WarpgroupBox& output_box);
  void prepare_extra(const Problem& problem, const Tensors& tensors);
  void prepare_lists(const Neighborhood& neighborhood, std::int64_t extra_tokens);
  void prepare_parts(const SplitTail& tail);
  std::vector<std::int32_t> tiles_of_items() const;
  void prepare_items(const GpuInfo& gpu, const Problem& problem, const Schedule& schedule);
};

void Plan::Prepared::prepare_band(const Problem& problem, const Tensors& tensors) {
  const KernelShape& shape = instance->shape;
  Layout queries, keys;
  queries.length[0] = problem.q_tokens;
  keys.length[0] = problem.kv_tokens;
  queries.step[0] = keys.step[0] = 1;
  const int columns = instance->columns;
  const Tensor q{tensors.q, problem.q, problem.heads}, k{tensors.k, problem.k, problem.heads_kv},
      v{tensors.v, problem.v, problem.heads_kv}, o{tensors.o, problem.o, problem.heads};
  arguments.only.q = encode(problem, q, queries, {shape.q_tile, 1, 1}, columns);
  arguments.only.k = encode(problem, k, keys, {shape.kv_tile, 1, 1}, columns);
  arguments.only.v = encode(problem, v, keys, {shape.kv_tile, 1, 1}, columns);
  arguments.only.o = encode(problem, o, queries, {64, 1, 1}, columns);
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

void Plan::Prepared::prepare_groups(const Problem& problem, const Tensors& tensors,
                                    const WarpgroupBox& output_box) {
  const Neighborhood& neighborhood = std::get<Neighborhood>(problem.mask);
  const NeighborhoodMask& mask = neighborhood.mask;
  const int rank = static_cast<int>(mask.rank());
  std::array<AxisMask, 3> axes{};  // innermost first
  for (int axis = 0; axis < 3; ++axis)
    axes[axis] = axis < rank ? mask[rank - 1 - axis] : AxisMask{1, 1, 1, 1, false};
  const std::array<std::int64_t, 3> step = {1, axes[0].length, axes[0].length * axes[1].length};
  for (int axis = 0; axis < 3; ++axis) arguments.row_stride[axis] = step[axis] * axes[axis].dilation;
  arguments.row_stride[3] = step[2] * axes[2].length;

  // Ranges of every axis and residue, from the rule itself.
  std::vector<int2> ranges;
  std::array<std::vector<int>, 3> first_range;
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t residue = 0; residue < axes[axis].dilation; ++residue) {
      first_range[axis].push_back(static_cast<int>(ranges.size()));
      const AxisGroup group = residue_class(axes[axis], residue);
      for (std::int64_t query = 0; query < group.length; ++query) {
        const TokenRange range = attended_range(group, query);
        ranges.push_back(
            {static_cast<int>(range.begin), static_cast<int>(std::min(range.end, group.length))});
      }
    }
  }
  arguments.ranges = keep(ranges);

  const std::array<int, 3> q_box = innermost_first(neighborhood.q_tile);
  const std::array<int, 3> kv_box = innermost_first(neighborhood.kv_tile);
  const int columns = instance->columns;
  std::vector<DilationGroup> groups;
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
        const Tensor q{tensors.q, problem.q, problem.heads}, k{tensors.k, problem.k, problem.heads_kv},
            v{tensors.v, problem.v, problem.heads_kv}, o{tensors.o, problem.o, problem.heads};
        group.q = encode(problem, q, layout, q_box, columns);
        group.k = encode(problem, k, layout, kv_box, columns);
        group.v = encode(problem, v, layout, kv_box, columns);
        group.o = encode(problem, o, layout, output_box.box, columns);
        arguments.q_at = head_dimensions(problem, q, layout).placement;
        arguments.kv_at = head_dimensions(problem, k, layout).placement;
        arguments.o_at = head_dimensions(problem, o, layout).placement;
        if (!(head_dimensions(problem, v, layout).placement == arguments.kv_at)) {
          throw InvalidParameter("v", std::to_string(problem.v.head), "heads and batches laid out as K's");
        }
        groups.push_back(group);
      }
    }
  }
  arguments.only = groups.front();
  if (groups.size() > 1) arguments.groups = keep(groups);
}

void Plan::Prepared::prepare_extra(const Problem& problem, const Tensors& tensors) {
  arguments.extra_tokens = static_cast<int>(problem.extra_tokens);
  if (problem.extra_tokens == 0) return;
  Layout layout;
  layout.length[0] = problem.extra_tokens;
  layout.step[0] = 1;
  const std::array<int, 3> box = {instance->shape.kv_tile, 1, 1};
  arguments.extra_k =
      encode(problem, {tensors.extra_k, problem.extra_k, problem.heads_kv}, layout, box, instance->columns);
  arguments.extra_v =
      encode(problem, {tensors.extra_v, problem.extra_v, problem.heads_kv}, layout, box, instance->columns);
}

void Plan::Prepared::prepare_lists(const Neighborhood& neighborhood, std::int64_t extra_tokens) {
  const BoxLists lists = box_lists(neighborhood, extra_tokens);
  tiles_of_rows.clear();
  for (const QTileRow& row : lists.rows) tiles_of_rows.push_back(row.count);
  arguments.rows = keep(lists.rows);
  arguments.entries = keep(lists.entries);
  arguments.q_tiles = static_cast<int>(lists.rows.size());
}

void Plan::Prepared::prepare_box(const Problem& problem, const Tensors& tensors) {
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
  prepare_groups(problem, tensors, output_box);
  prepare_extra(problem, tensors);
  prepare_lists(neighborhood, problem.extra_tokens);
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
  const int warpgroups = instance->shape.q_tile / 64;
  const std::size_t slot_floats = std::size_t{128} * static_cast<std::size_t>(instance->shape.head_dim / 2 + 4);
  tables.emplace_back(std::max<std::size_t>(static_cast<std::size_t>(slots * warpgroups), 1) * slot_floats * 4);
  arguments.workspace = static_cast<float*>(tables.back().data());
  arguments.arrivals = const_cast<unsigned*>(
      keep(std::vector<unsigned>(first_of_item.size() * static_cast<std::size_t>(warpgroups))));
  arguments.parts = keep(parts);
  arguments.whole_items = tail.whole_items;
  arguments.items = tail.whole_items + static_cast<int>(parts.size());
}

void Plan::Prepared::prepare_items(const GpuInfo& gpu, const Problem& problem, const Schedule& schedule) {
  const std::int64_t items = static_cast<std::int64_t>(arguments.q_tiles) * problem.heads * problem.batch;
  if (items > std::numeric_limits<int>::max() / 2) {
    throw InvalidParameter("items", std::to_string(items), "fewer than 2^30 Q tiles in all");
  }
  if (schedule.ctas < 0 || schedule.ctas > gpu.sms) {
    throw InvalidParameter("ctas", std::to_string(schedule.ctas), "0 to " + std::to_string(gpu.sms));
  }
  if (schedule.heads_a_section < 1) {
    throw InvalidParameter("heads_a_section", std::to_string(schedule.heads_a_section), "1 or more");
  }
  const int resident = schedule.ctas == 0 ? gpu.sms : schedule.ctas;
  arguments.items = static_cast<int>(items);
  arguments.section =
      static_cast<int>(std::min<std::int64_t>(schedule.heads_a_section, problem.heads * problem.batch));
  arguments.last_q_tile_first = schedule.last_q_tile_first;
  arguments.walk = static_cast<int>(schedule.walk);
  arguments.items_a_wave = resident;
  const bool grid = schedule.dispatch == Dispatch::kGrid;
  ctas = grid ? arguments.items : std::min(arguments.items, resident);
  arguments.whole_items = arguments.items;
  constexpr std::int64_t kMostToSplit = 1 << 22;  // items beyond which a round is nothing
  if (schedule.split_tail) {
    if (schedule.dispatch != Dispatch::kStatic || !can_split(instance->shape)) {
      throw InvalidParameter(
          "split_tail", to_string(schedule.dispatch),
          "static dispatch of a sequence, head_dim at most 192 (128 where items are joined)");
    }
    if (items <= kMostToSplit) {
      const SplitTail tail = split_tail(tiles_of_items(), ctas);
      if (!tail.parts.empty()) prepare_parts(tail);
    }
  }
  if (schedule.dispatch == Dispatch::kTicket) {
    arguments.ticket = const_cast<unsigned*>(keep(std::vector<unsigned>{0, 0}));
  }
}

static_assert(static_cast<int>(KvOrder::kCyclic) == 0 && static_cast<int>(KvOrder::kSawtooth) == 1 &&
              static_cast<int>(KvOrder::kDescending) == 2);

Plan::Plan(const GpuInfo& gpu, const Problem& problem, const KernelShape& kernel, const Schedule& schedule,
           const Tensors& tensors)
    : prepared_(std::make_unique<Prepared>()) {
  require_valid(problem);
  if (gpu.compute_major != 9 || gpu.compute_minor != 0) {
    throw HardwareAbsent("an sm_90 GPU",
                         gpu.name + " is sm_" + std::to_string(gpu.compute_major * 10 + gpu.compute_minor));
  }
  const bool neighborhood = std::holds_alternative<Neighborhood>(problem.mask);
  if (kernel.neighborhood != neighborhood || kernel.dtype != problem.dtype ||
      kernel.head_dim != problem.head_dim) {
    throw InvalidParameter("kernel", std::to_string(kernel.head_dim),
                           "the problem's head_dim, dtype and kind of mask");
  }
  Prepared& p = *prepared_;
  p.instance = &find_instance(kernel);
  p.arguments.lse = tensors.lse;
  p.arguments.scale_log2 = static_cast<float>(problem.softmax_scale() * 1.4426950408889634);
  p.arguments.heads = static_cast<int>(problem.heads);
  p.arguments.heads_per_kv_head = static_cast<int>(problem.heads / problem.heads_kv);
  p.arguments.batch = static_cast<int>(problem.batch);
  p.arguments.q_tokens = static_cast<int>(problem.q_tokens);
  p.arguments.kv_tokens = static_cast<int>(problem.kv_tokens);
  if (neighborhood) {
    p.prepare_box(problem, tensors);
  } else {
    p.prepare_band(problem, tensors);
  }
  p.prepare_items(gpu, problem, schedule);
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(p.instance->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             p.instance->shared_bytes));
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

void Plan::launch(DeviceBuffer* intervals) const {
  const Prepared& p = *prepared_;
  Arguments taken = p.arguments;
  if (intervals != nullptr) {
    if (taken.parts != nullptr) throw InvalidParameter("intervals", "split items", "whole items");
    const std::size_t needed = static_cast<std::size_t>(taken.items) * sizeof(ItemInterval);
    if (intervals->bytes() < needed)
      throw InvalidParameter("intervals", std::to_string(intervals->bytes()),
                             std::to_string(needed) + " bytes");
    taken.intervals = static_cast<ItemInterval*>(intervals->data());
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(p.ctas));
  config.blockDim = dim3(static_cast<unsigned>(p.instance->threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(p.instance->shared_bytes);
  void* arguments[] = {&taken};
  NATTEN_SIM_CUDA_CHECK(cudaLaunchKernelExC(&config, p.instance->kernel, arguments));
}

std::vector<KernelShape> built_kernels() {
  std::vector<KernelShape> shapes;
  for (const auto& table :
       {sequences_head_dim_64(), sequences_head_dim_96(), sequences_head_dim_128(), sequences_head_dim_160(),
        sequences_head_dim_192(), sequences_head_dim_256(), neighborhoods(), ladder_steps()}) {
    for (const Instance& instance : table) shapes.push_back(instance.shape);
  }
  return shapes;
}

}  // namespace natten_sim::kernels::attention_forward
