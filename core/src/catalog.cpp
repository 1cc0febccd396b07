#include <algorithm>
#include <set>
#include <type_traits>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

/// In lower case, with dashes where people write "Wan2.1" or "hunyuan_video".
std::string plain(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '.' || c == '_' || c == ' ') c = '-';
  }
  return result;
}

constexpr std::size_t kShortestBeginning = 3;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether the first `size` characters are whole parts of a name: wan|2|-1|-14|b|-720|p.
bool ends_a_part(const std::string& name, std::size_t size) {
  return name[size] == '-' || is_digit(name[size]) != is_digit(name[size - 1]);
}

/// Sizes of one model differ behind the first dash of their names: `wan` is the first of wan2-1-14b-720p, ..
/// A shared prefix does not make two entries alternatives: costs of another head dim are other costs.
template <typename T>
bool sizes_of_one_model(const T& one, const T& other) {
  if (!std::is_same_v<T, Preset>) return false;
  const std::string a = plain(one.name), b = plain(other.name);
  return a.substr(0, a.find('-')) == b.substr(0, b.find('-'));
}

/// The entry of this name, however it is spelled. Else the one whose name begins so; of several none, or the
/// first size of a model.
template <typename T>
const T* find_meant(const std::vector<T>& table, std::string_view name) {
  const std::string wanted = plain(name);
  const T* meant = nullptr;
  for (const T& entry : table) {
    const std::string own = plain(entry.name);
    if (own == wanted) return &entry;
    if (wanted.size() < kShortestBeginning || !own.starts_with(wanted) || !ends_a_part(own, wanted.size())) continue;
    if (meant != nullptr && !sizes_of_one_model(*meant, entry)) return nullptr;
    if (meant == nullptr) meant = &entry;
  }
  return meant;
}

/// Letters and numbers, one by one: wan, 2, 1, 14, b.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  char before = '-';
  for (const char c : plain(name)) {
    if (c != '-' && (before == '-' || is_digit(c) != is_digit(before))) parts.emplace_back();
    if (c != '-') parts.back() += c;
    before = c;
  }
  return parts;
}

/// The first name that has all parts of `name` in order, from its first one on: wan2-1-1-3b-480p for
/// wan-1.3b.
std::string name_with_parts(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string> wanted = parts_of(name);
  for (const std::string& each : names) {
    const std::vector<std::string> own = parts_of(each);
    if (wanted.empty() || own.front() != wanted.front()) continue;
    std::size_t found = 0;
    for (const std::string& part : own) found += found < wanted.size() && part == wanted[found] ? 1 : 0;
    if (found == wanted.size()) return each;
  }
  return "";
}

/// What else a message about an unknown name says: other versions of the model, and where own entries come from.
template <typename T>
std::string more_of(const std::vector<std::string>& names, std::string_view name) {
  std::string more;
  if constexpr (std::is_same_v<T, Preset>) {
    const std::string wanted = plain(name), model = wanted.substr(0, wanted.find_first_of("0123456789-"));
    std::string others;
    for (const std::string& each : names) {
      if (model.size() >= kShortestBeginning && plain(each).starts_with(model))
        others += (others.empty() ? "" : ", ") + each;
    }
    if (!others.empty()) more += "; of " + model + " there are " + others;
    return more + "; your own with " + mention("preset-file");
  } else if constexpr (std::is_same_v<T, Device>) {
    return "; your own with " + mention("device-file");
  } else {
    return more;
  }
}

template <typename T>
const T& find_named(const std::vector<T>& table, const char* kind, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const T& entry) { return entry.name == name; });
  if (found != table.end()) return *found;
  if (const T* meant = find_meant(table, name)) return *meant;
  std::vector<std::string> names;
  std::string known;
  for (const T& entry : table) {
    names.push_back(entry.name);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  known += more_of<T>(names, name);
  std::string closest = closest_name(name, names);
  if (closest.empty()) closest = name_with_parts(name, names);
  throw UnknownName(kind, std::string(name), closest, known);
}

}  // namespace

const Backend& Catalog::backend(std::string_view name) const { return find_named(backends, "backend", name); }
const NattenRules& Catalog::natten_release(const std::optional<std::string>& version) const {
  std::vector<std::string> versions;
  for (const NattenRules& release : natten) {
    if (!version || release.version == *version) return release;
    versions.push_back(release.version);
  }
  const std::string wanted = version.value_or("newest");
  throw UnknownName("natten", wanted, closest_name(wanted, versions), joined(versions));
}
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
