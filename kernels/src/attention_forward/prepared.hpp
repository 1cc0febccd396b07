// What a plan of attention forward keeps between launches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <natten_sim/kernels/attention_forward/split_tail.hpp>

#include "attention_forward/box_tables.hpp"
#include "attention_forward/instances.hpp"
#include "attention_forward/tensor_map.cuh"

namespace natten_sim::kernels::attention_forward {

/// Memory that launches write besides their outputs. Counters come first; they are zero before a launch.
struct WorkspaceLayout {
  std::size_t counters = 0;  ///< the ticket's two, then arrivals
  std::size_t parts_at = 0, groups_at = 0, bytes = 0;
};

struct Plan::Prepared {
  Arguments arguments;  ///< all but what bind() fills in
  Problem problem;      ///< its lists of tiles are gone: the tables have them
  const Instance* instance = nullptr;
  int ctas = 0;
  std::vector<DeviceBuffer> tables;
  std::vector<std::int32_t> tiles_of_rows;  ///< KV tiles of each Q tile of a head
  std::vector<Layout> layouts;              ///< of dilation groups; kBand: of queries, of keys
  std::vector<DilationGroup> groups;
  std::array<int, 3> q_box{}, kv_box{}, o_box{};
  bool has_ticket = false, has_parts = false;
  WorkspaceLayout workspace;
  DeviceBuffer own_memory;

  template <typename T>
  const T* keep(const std::vector<T>& values) {
    DeviceBuffer buffer(std::max<std::size_t>(values.size(), 1) * sizeof(T));
    if (!values.empty()) buffer.copy_from_host(values.data(), values.size() * sizeof(T));
    tables.push_back(std::move(buffer));
    return static_cast<const T*>(tables.back().data());
  }

  void prepare_band();
  void prepare_box();
  void prepare_groups();
  std::vector<int2> axis_ranges(std::array<std::vector<int>, 3>& first_range) const;
  void prepare_lists(const Neighborhood& neighborhood);
  void prepare_parts(const SplitTail& tail);
  std::vector<std::int32_t> tiles_of_items() const;
  void prepare_items(const GpuInfo& gpu, const Schedule& schedule);
  void lay_out_workspace();

  /// Fills in what depends on tensors and workspace; asynchronous on the launch's stream.
  void bind(Arguments& to, const Tensors& tensors, void* memory) const;
};

}  // namespace natten_sim::kernels::attention_forward
