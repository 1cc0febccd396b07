#include <algorithm>
#include <set>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

template <typename T>
const T& find_named(const std::vector<T>& table, const char* kind, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const T& entry) { return entry.name == name; });
  if (found != table.end()) return *found;
  std::vector<std::string> names;
  std::string known;
  for (const T& entry : table) {
    names.push_back(entry.name);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw UnknownName(kind, std::string(name), closest_name(name, names), known);
}

}  // namespace

const Backend& Catalog::backend(std::string_view name) const { return find_named(backends, "backend", name); }
const Preset& Catalog::preset(std::string_view name) const { return find_named(presets, "preset", name); }
const Device& Catalog::device(std::string_view name) const { return find_named(devices, "device", name); }
const AttentionKernel& Catalog::kernel(std::string_view name) const {
  return find_named(kernels, "kernel", name);
}

const KernelCosts* Catalog::costs_of(std::string_view kernel_name, std::string_view device_name,
                                     std::int64_t head_dim, Dtype dtype) const {
  for (const KernelCosts& costs : kernel_costs) {
    if (costs.kernel == kernel_name && costs.device == device_name && costs.head_dim == head_dim &&
        std::find(costs.dtypes.begin(), costs.dtypes.end(), dtype) != costs.dtypes.end())
      return &costs;
  }
  return nullptr;
}

const ScheduleCostSet& Catalog::schedule_cost_set(std::string_view name) const {
  return find_named(schedule_costs, "costs", name);
}

const ScheduleCostSet* Catalog::schedule_costs_of(std::string_view kernel_name, std::string_view device_name,
                                                  std::int64_t head_dim, Dtype dtype) const {
  for (const ScheduleCostSet& costs : schedule_costs) {
    if (costs.kernel == kernel_name && costs.device == device_name && costs.head_dim == head_dim &&
        std::find(costs.dtypes.begin(), costs.dtypes.end(), dtype) != costs.dtypes.end())
      return &costs;
  }
  return nullptr;
}

std::vector<TilePair> tile_pairs(const Backend& backend, std::size_t rank, std::int64_t head_dim, Walk pass) {
  const std::vector<BackendTiles>& table = pass == Walk::kForward ? backend.forward : backend.backward;
  const char* direction = pass == Walk::kForward ? " forward" : " backward";
  std::vector<TilePair> pairs;
  std::set<std::int64_t> head_dims;
  for (const BackendTiles& entry : table) {
    if (entry.tiles.q_tile.rank() != rank) continue;
    if (entry.head_dim) head_dims.insert(*entry.head_dim);
    if (entry.head_dim && *entry.head_dim != head_dim) continue;
    if (std::find(pairs.begin(), pairs.end(), entry.tiles) == pairs.end()) pairs.push_back(entry.tiles);
  }
  if (!pairs.empty()) return pairs;
  if (head_dims.empty()) {
    throw InvalidParameter("backend", backend.name,
                           "a backend with" + std::string(direction) + " tiles for " + std::to_string(rank) +
                               "-D layouts, or tile shapes given by hand");
  }
  std::string known;
  for (std::int64_t dim : head_dims) known += (known.empty() ? "" : ", ") + std::to_string(dim);
  throw InvalidParameter("head_dim", std::to_string(head_dim), known + " (" + backend.name + direction + ")");
}

}  // namespace natten_sim
